#include "src/tuning/fit/json_input.h"

#include <algorithm>
#include <cmath>

#include "src/base/error.h"

namespace octet {

nlohmann::json parse_json_input(const std::string& path, std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    throw usage_error("tuning", "{}:{}: no valid JSON ({}); did the benchmark end while it wrote?", path, line,
                      error.what());
  }
}

bool JsonInput::has(const char* key) const {
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

JsonInput JsonInput::child(const char* key) const {
  if (!value_->is_object()) throw usage_error("tuning", "{}: expected an object", where_);
  const auto found = value_->find(key);
  if (found == value_->end()) throw usage_error("tuning", "{}: \"{}\" is missing", where_, key);
  return {*found, where_ + ": " + key};
}

std::string JsonInput::text() const {
  if (!value_->is_string()) throw usage_error("tuning", "{} is {}; expected a text", where_, value_->dump());
  return value_->get<std::string>();
}

std::int64_t JsonInput::integer(const char* key) const {
  const JsonInput found = child(key);
  if (!found.value_->is_number_integer()) {
    throw usage_error("tuning", "{} is {}; expected an integer", found.where_, found.value_->dump());
  }
  return found.value_->get<std::int64_t>();
}

double JsonInput::number(const char* key) const {
  const JsonInput found = child(key);
  if (!found.value_->is_number() || !std::isfinite(found.value_->get<double>())) {
    throw usage_error("tuning", "{} is {}; expected a number", found.where_, found.value_->dump());
  }
  return found.value_->get<double>();
}

bool JsonInput::boolean(const char* key) const {
  const JsonInput found = child(key);
  if (!found.value_->is_boolean()) {
    throw usage_error("tuning", "{} is {}; expected true or false", found.where_, found.value_->dump());
  }
  return found.value_->get<bool>();
}

JsonInput JsonInput::object(const char* key) const {
  JsonInput found = child(key);
  if (!found.value_->is_object()) throw usage_error("tuning", "{}: expected an object", found.where_);
  return found;
}

JsonInput JsonInput::list(const char* key) const {
  JsonInput found = child(key);
  if (!found.value_->is_array()) throw usage_error("tuning", "{}: expected a list", found.where_);
  return found;
}

JsonInput JsonInput::at(std::size_t index) const {
  const std::size_t colon = where_.rfind(": ");
  const std::string name = colon == std::string::npos ? where_ : where_.substr(colon + 2);
  const std::string base = colon == std::string::npos ? "" : where_.substr(0, colon + 2);
  return {value_->at(index), fmt::format("{}{}[{}]", base, name, index)};
}

}  // namespace octet
