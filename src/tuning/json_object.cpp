#include "src/tuning/json_object.h"

#include <algorithm>
#include <set>

namespace octet {
namespace {

constexpr std::size_t most_of_a_value = 60;
constexpr int deepest = 32;  // what prints or reads a value recurses

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > most_of_a_value) text = text.substr(0, most_of_a_value) + "...";
  return text;
}

}  // namespace

JsonObject::JsonObject(const nlohmann::json& value, std::string file, std::string where)
    : value_(&value), file_(std::move(file)), where_(std::move(where)) {
  if (value.is_object()) return;
  throw usage_error("tuning", "{}: {} is {}; expected an object", file_, where_.empty() ? "the whole" : where_,
                    shown(value));
}

Error JsonObject::refuse(const std::string& key, const std::string& expected) const {
  const auto found = value_->find(key);
  if (found == value_->end())
    return usage_error("tuning", "{}: {} is missing; expected {}", file_, path(key), expected);
  return usage_error("tuning", "{}: {} is {}; expected {}", file_, path(key), shown(*found), expected);
}

const nlohmann::json& JsonObject::at(const char* key) {
  static const nlohmann::json none;
  asked_.emplace_back(key);
  const auto found = value_->find(key);
  return found == value_->end() ? none : *found;
}

std::string JsonObject::text(const char* key) {
  const nlohmann::json& value = at(key);
  if (!value.is_string()) throw refuse(key, "a text");
  return value.get<std::string>();
}

std::int64_t JsonObject::integer(const char* key, std::int64_t least, std::int64_t most) {
  const nlohmann::json& value = at(key);
  const auto within = [&] { return value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most; };
  const bool fits =
      value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (!fits || !within()) throw refuse(key, fmt::format("an integer of {} to {}", least, most));
  return value.get<std::int64_t>();
}

double JsonObject::number(const char* key, double least, double most) {
  const nlohmann::json& value = at(key);
  // A NaN compares with nothing.
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
    throw refuse(key, fmt::format("a number of {} to {}", least, most));
  }
  return value.get<double>();
}

JsonObject JsonObject::object(const char* key) {
  const nlohmann::json& value = at(key);
  if (!value.is_object()) throw refuse(key, "an object");
  return {value, file_, path(key)};
}

std::vector<std::string> JsonObject::texts(const char* key) {
  const nlohmann::json& value = at(key);
  const auto is_text = [](const nlohmann::json& element) { return element.is_string(); };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_text)) throw refuse(key, "a list of texts");
  return value.get<std::vector<std::string>>();
}

std::pair<std::int64_t, std::int64_t> JsonObject::integers(const char* key, std::int64_t least, std::int64_t most) {
  const nlohmann::json& value = at(key);
  const auto fits = [&](const nlohmann::json& element) {
    return element.is_number_integer() && !(element.is_number_unsigned() && element.get<std::uint64_t>() > INT64_MAX) &&
           element.get<std::int64_t>() >= least && element.get<std::int64_t>() <= most;
  };
  if (!value.is_array() || value.size() != 2 || !std::all_of(value.begin(), value.end(), fits)) {
    throw refuse(key, fmt::format("[from, to], integers of {} to {}", least, most));
  }
  return {value[0].get<std::int64_t>(), value[1].get<std::int64_t>()};
}

std::vector<JsonObject> JsonObject::list(const char* key) {
  const nlohmann::json& value = at(key);
  std::vector<JsonObject> elements;
  if (value.is_null() && !has(key)) return elements;
  if (!value.is_array()) throw refuse(key, "a list of objects");
  for (std::size_t i = 0; i < value.size(); ++i) {
    elements.emplace_back(value[i], file_, fmt::format("{}[{}]", path(key), i));
  }
  return elements;
}

void JsonObject::finish() const {
  for (const auto& [key, value] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    std::string known;
    for (const std::string& name : asked_) known += (known.empty() ? "" : ", ") + name;
    throw usage_error("tuning", "{}: unknown key {}; expected one of {}", file_, path(key), known);
  }
}

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int depth, Event event, nlohmann::json& value) {
    if (depth > deepest)
      throw usage_error("tuning", "{}: nested deeper than {}; expected a tuning file", file, deepest);
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(value.get<std::string>()).second) {
      throw usage_error("tuning", "{}: the key {} stands twice in one object; expected once", file, shown(value));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    throw usage_error("tuning", "{}: {}; expected a tuning file in JSON", file, error.what());
  }
}

}  // namespace octet
