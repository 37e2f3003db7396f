#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/base/options/schema.h"

namespace octet {

/// What a program is asked beside what its run is: options, and flags that ask for something else than its work, as
/// those of parse_arguments.
struct OwnOptions {
  const Schema& schema;
  std::vector<std::string> flags{};
  std::vector<std::string> flags_of_run{};  ///< those that it leaves to parse_command_line
  std::string help = "--help lists all";    ///< what lists all options, for messages
};

/// The words of a command line by whom they are for, each with the program's name first, as parse_arguments takes them.
/// They point into the words that were given.
struct WordsByOwner {
  std::vector<const char*> own, run;
  std::size_t file = 0;  ///< which one of `run` is no option and no value of one; 0: none
};

/// Parts the words of a command line, of which the first is the program's name: options of `own`, with their values,
/// and its flags to the one side, those of a run (octet-train's) and what is no option to the other. An option of both
/// is the program's own. Usage error for one that neither has, with the nearest of both.
WordsByOwner distribute(const std::vector<std::string>& words, const OwnOptions& own);

}  // namespace octet
