#include "src/base/json_reader.h"

#include <algorithm>

#include "src/base/printable.h"

namespace octet {
namespace {

constexpr std::size_t most_of_a_value = 80;

std::string bounds(std::string_view what, std::int64_t least, std::int64_t most) {
  if (most == INT64_MAX) return least == INT64_MIN ? std::string(what) : fmt::format("{}, at least {}", what, least);
  return fmt::format("{} of {} to {}", what, least, most);
}

bool is_integer(const nlohmann::json& value, std::int64_t least, std::int64_t most) {
  // Above 63 bits the library has no signed number, and says unsigned.
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) &&
         value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
}

}  // namespace

JsonReader::JsonReader(const nlohmann::json& value, std::string_view room, const std::string& file)
    : value_(&value), room_(room), where_(file), joint_(": ") {}

std::string JsonReader::shown() const {
  if (value_ == nullptr) return "nothing";
  return cut_off(value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), most_of_a_value);
}

Error JsonReader::refuse(const std::string& expected) const {
  if (value_ == nullptr) return usage_error(room_, "{} is missing; expected {}", where_, expected);
  return usage_error(room_, "{} is {}; expected {}", where_, shown(), expected);
}

bool JsonReader::contains(const char* key) const {
  return at(key).is_there();
}

bool JsonReader::has(const char* key) const {
  const JsonReader value = at(key);
  return value.is_there() && !value.is_null();
}

JsonReader JsonReader::at(const char* key) const {
  if (value_ == nullptr || !value_->is_object()) throw refuse("an object");
  asked_.emplace_back(key);
  const auto found = value_->find(key);
  return {found == value_->end() ? nullptr : &*found, room_, fmt::format("{}{}{}", where_, joint_, key)};
}

std::vector<JsonReader> JsonReader::list_or_none(const char* key) const {
  const JsonReader found = at(key);
  return found.value_ == nullptr ? std::vector<JsonReader>() : found.elements();
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (value_ == nullptr || !value_->is_object()) throw refuse("an object");
  std::vector<std::pair<std::string, JsonReader>> out;
  for (const auto& [key, value] : value_->items()) out.emplace_back(key, at(key.c_str()));
  return out;
}

void JsonReader::finish() const {
  std::vector<std::string> asked;  // each once, in the order of asking
  for (const std::string& key : asked_) {
    if (std::ranges::find(asked, key) == asked.end()) asked.push_back(key);
  }
  for (const auto& [key, value] : value_->items()) {
    if (std::ranges::find(asked, key) != asked.end()) continue;
    throw usage_error(room_, "{}: unknown key {}; expected one of {}", where_, readable(cut_off(key, most_of_a_value)),
                      fmt::join(asked, ", "));
  }
}

std::size_t JsonReader::size() const {
  if (value_ == nullptr || !value_->is_array()) throw refuse("a list");
  return value_->size();
}

JsonReader JsonReader::element(std::size_t index) const {
  return {&value_->at(index), room_, fmt::format("{}[{}]", where_, index)};
}

std::vector<JsonReader> JsonReader::elements(int count) const {
  if (count >= 0 && size() != static_cast<std::size_t>(count)) throw refuse(fmt::format("a list of {}", count));
  std::vector<JsonReader> out;
  out.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) out.push_back(element(i));
  return out;
}

std::vector<std::int64_t> JsonReader::integers(std::int64_t least, std::int64_t most, int count) const {
  if (count >= 0 && size() != static_cast<std::size_t>(count)) throw refuse(fmt::format("a list of {}", count));
  std::vector<std::int64_t> out(size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!is_integer((*value_)[i], least, most)) throw element(i).refuse(bounds("an integer", least, most));
    out[i] = (*value_)[i].get<std::int64_t>();
  }
  return out;
}

std::vector<std::string> JsonReader::texts() const {
  std::vector<std::string> out;
  for (const JsonReader& element : elements()) out.push_back(element.text());
  return out;
}

std::string JsonReader::text() const {
  if (value_ == nullptr || !value_->is_string()) throw refuse("a text");
  return value_->get<std::string>();
}

std::int64_t JsonReader::integer(std::int64_t least, std::int64_t most) const {
  if (value_ == nullptr || !is_integer(*value_, least, most)) throw refuse(bounds("an integer", least, most));
  return value_->get<std::int64_t>();
}

std::uint64_t JsonReader::unsigned_integer() const {
  if (value_ == nullptr || !value_->is_number_unsigned()) throw refuse("a whole number that is not negative");
  return value_->get<std::uint64_t>();
}

double JsonReader::number(double least, double most) const {
  // A NaN compares with nothing.
  if (value_ == nullptr || !value_->is_number() || !(value_->get<double>() >= least && value_->get<double>() <= most)) {
    const bool any = least == std::numeric_limits<double>::lowest() && most == std::numeric_limits<double>::max();
    throw refuse(any ? "a number" : fmt::format("a number of {} to {}", least, most));
  }
  return value_->get<double>();
}

double JsonReader::number_or_nan() const {
  if (value_ != nullptr && value_->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (value_ == nullptr || !value_->is_number()) throw refuse("a number or null");
  return value_->get<double>();
}

bool JsonReader::boolean() const {
  if (value_ == nullptr || !value_->is_boolean()) throw refuse("true or false");
  return value_->get<bool>();
}

}  // namespace octet
