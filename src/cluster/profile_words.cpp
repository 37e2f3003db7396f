#include "src/cluster/profile_words.h"

#include <algorithm>
#include <string_view>

#include "src/base/error.h"

namespace octet {

void add_override(ProfileOverrides& overrides, const std::string& key, const std::string& value) {
  const bool is_there = std::ranges::any_of(overrides, [&](const auto& one) { return one.first == key; });
  if (is_there) throw usage_error("config", "command line: --cluster.{} is given twice, expected once", key);
  overrides.emplace_back(key, value);
}

ProfileOverrides take_profile_overrides(std::vector<std::string>& words) {
  constexpr std::string_view prefix = "--cluster.";
  ProfileOverrides out;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with(prefix)) {
      rest.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      add_override(out, word.substr(prefix.size(), equals - prefix.size()), word.substr(equals + 1));
      continue;
    }
    if (i + 1 >= words.size() || words[i + 1].starts_with("--")) {
      throw usage_error("config", "command line: the value of {} is missing", word);
    }
    add_override(out, word.substr(prefix.size()), words[++i]);
  }
  words = std::move(rest);
  return out;
}

void check_overrides(const std::string& cluster, const ProfileOverrides& overrides) {
  if (!cluster.empty() || overrides.empty()) return;
  throw usage_error("config", "command line: --cluster.{} changes a profile, expected --cluster NAME too",
                    overrides.front().first);
}

}  // namespace octet
