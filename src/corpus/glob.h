#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Says whether a path has one of the characters * ? [ that make it a pattern.
bool is_glob(std::string_view path);

/// What a pattern matches.
struct GlobMatches {
  std::vector<std::string> paths;           ///< sorted byte by byte
  std::vector<std::string> linked_folders;  ///< that ** met and did not go into, sorted
};

/// Files and folders whose paths match a pattern: * and ? stand for characters of one name, [abc] for one of them, and
/// ** as a whole name for any number of folders, none too. Names that begin with a dot are matched by a pattern that
/// has the dot; ** goes into no hidden and no linked folder. Usage error for a folder that cannot be read.
GlobMatches expand_glob(const std::string& pattern);

}  // namespace octet
