#include "src/base/options/schema.h"

#include <algorithm>

namespace octet {

void Schema::section(std::string name, std::string help) {
  sections_.push_back({std::move(name), std::move(help)});
}

Option& Schema::add_choice(const std::string& key, std::string& field, const std::vector<std::string>& choices) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(choices.size());
  for (const std::string& choice : choices) pairs.emplace_back(choice, choice);
  return add_choice<std::string>(key, field, std::move(pairs));
}

Option& Schema::insert(std::string key, std::unique_ptr<Value> value) {
  const Option& option = options_.emplace_back(sections_.back().name, std::move(key), std::move(value));
  for (std::size_t i = 0; i + 1 < options_.size(); ++i) {
    if (options_[i].name() == option.name())
      throw internal_error("config", "option {} is declared twice", option.name());
  }
  return options_.back();
}

bool Schema::has_section(const std::string& name) const {
  return !name.empty() &&
         std::any_of(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
}

Option* Schema::find(const std::string& name) {
  const auto found = std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.name() == name; });
  return found == options_.end() ? nullptr : &*found;
}

const Option* Schema::find(const std::string& name) const {
  const auto found = std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.name() == name; });
  return found == options_.end() ? nullptr : &*found;
}

std::string Schema::current_name(const std::string& name) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.former_name() == name; });
  return found == options_.end() || name.empty() ? name : found->name();
}

std::vector<std::string> Schema::names() const {
  std::vector<std::string> out;
  for (const Option& option : options_) out.push_back(option.name());
  return out;
}

Origins Schema::origins() const {
  Origins out;
  for (const Option& option : options_) {
    if (option.is_set()) out[option.name()] = option.origin();
  }
  return out;
}

void Schema::check_required(const std::string& source, bool on_command_line) const {
  for (const Option& option : options_) {
    if (!option.is_required() || option.is_set()) continue;
    throw usage_error("config", "{}: {} is missing: expected {}{}", source, option.name(), option.type(),
                      on_command_line ? ", in a configuration file or as --" + option.name() : "");
  }
}

void Schema::add_missing(const std::string& source, const std::string& prefix, std::vector<std::string>& lines) const {
  for (const Option& option : options_) {
    if (!option.is_required() || option.is_set()) continue;
    lines.push_back(fmt::format("{}: {}{} ({}): {}", source, prefix, option.name(), option.type(), option.help_text()));
  }
}

void Schema::check(const Origins& origins) const {
  for (const Option& option : options_) {
    const auto origin = origins.find(option.name());
    option.check({origin == origins.end() ? "configuration" : origin->second, 0, option.name()});
  }
}

}  // namespace octet
