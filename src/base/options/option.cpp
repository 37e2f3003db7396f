#include "src/base/options/option.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "src/base/log.h"

namespace octet {

Option::Option(std::string section, std::string key, std::unique_ptr<Value> value)
    : section_(std::move(section)),
      key_(std::move(key)),
      default_(value->text()),
      value_(std::move(value)),
      default_number_(value_->number()) {}

Option& Option::was(std::string key, std::vector<std::pair<std::string, std::string>> values) {
  former_key_ = std::move(key);
  former_values_ = std::move(values);
  return *this;
}

std::string Option::former_name() const {
  if (former_key_.empty()) return "";
  return section_.empty() ? former_key_ : section_ + "." + former_key_;
}

bool Option::has_default() const {
  const bool is_empty = default_ == "\"\"" || default_ == "[]";
  return !required_ && !is_empty && (!default_number_ || in_range(*default_number_));
}

std::string Option::range() const {
  std::string text;
  if (std::isfinite(low_.at)) text = fmt::format("{} {}", low_.open ? ">" : ">=", low_.at);
  if (std::isfinite(high_.at)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", high_.open ? "<" : "<=", high_.at);
  }
  return text;
}

void Option::read(const YAML::Node& node, const Place& place) {
  value_->read(node, place);
  check(place);
  origin_ = place.origin();
}

void Option::read_former(const YAML::Node& node, const Place& place, bool tells) {
  std::string expected;
  for (const auto& [then, now] : former_values_) expected += (expected.empty() ? "" : " | ") + then;
  expected = fmt::format("one of {} (its new name is {}: {})", expected, name(), type());
  const std::string& found = scalar_text(node, place, expected);
  const auto value = std::ranges::find(former_values_, found, &std::pair<std::string, std::string>::first);
  if (value == former_values_.end()) throw wrong_value(place, node, expected);
  read(YAML::Node(value->second), place);
  if (tells && log::rank() == 0) {
    log::warning("{}: {} = {} is the old name of {} = {}; write the new name instead", place.origin(), former_name(),
                 found, name(), value->second);
  }
}

void Option::check(const Place& place) const {
  value_->check(place);
  const auto number = value_->number();
  if (!number || in_range(*number)) return;
  const std::string bounds = range();
  const std::string unit = unit_.empty() ? "" : fmt::format(" ({})", unit_);
  throw wrong_value(place, text(), bounds.empty() ? "a finite number" : fmt::format("{} {}{}", type(), bounds, unit));
}

}  // namespace octet
