#pragma once

#include <string>
#include <utility>
#include <vector>

namespace octet {

/// Keys of a profile and the texts that stand in for its values, in the order of the command line.
using ProfileOverrides = std::vector<std::pair<std::string, std::string>>;

/// Adds one. Usage error for a key that is there already.
void add_override(ProfileOverrides& overrides, const std::string& key, const std::string& value);

/// Takes `--cluster.section.key VALUE` and `--cluster.section.key=VALUE`, by which every command changes a profile for
/// once, out of the words of a command line. Usage error where a value is missing or a key is given twice.
ProfileOverrides take_profile_overrides(std::vector<std::string>& words);

/// Throws a usage error for overrides without a profile that they could change (`cluster` is empty).
void check_overrides(const std::string& cluster, const ProfileOverrides& overrides);

}  // namespace octet
