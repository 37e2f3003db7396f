#include "src/cluster/profile_words.h"

#include <string_view>

#include "src/base/error.h"

namespace octet {

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
      out.emplace_back(word.substr(prefix.size(), equals - prefix.size()), word.substr(equals + 1));
      continue;
    }
    if (i + 1 >= words.size() || words[i + 1].starts_with("--")) {
      throw usage_error("config", "command line: the value of {} is missing", word);
    }
    out.emplace_back(word.substr(prefix.size()), words[++i]);
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
