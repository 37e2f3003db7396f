#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/base/options/schema.h"

namespace octet {

/// A command line of the form `program [FILE] [--section.key VALUE | --section.key=VALUE]... [--flag]...`.
struct Arguments {
  std::string file;                                            ///< the positional argument; empty: none
  std::vector<std::pair<std::string, std::string>> overrides;  ///< full option name, value as text
  std::set<std::string> flags;                                 ///< of those that were allowed

  bool has(const std::string& flag) const { return flags.contains(flag); }
};

/// What the positional argument is, for messages.
struct Positional {
  std::string plural = "configuration files";
  std::string hint{};  ///< what a second one may have been meant as: "; ..."
};

/// Parses against the schema's names and the given flags (words without a value, such as "help", which is -h too).
/// Throws a usage error for an unknown option (with the nearest known one), an option given twice or without a value,
/// and more than one file. Sets nothing.
Arguments parse_arguments(const Schema& schema, const std::vector<std::string>& flags, int argc,
                          const char* const* argv, const Positional& positional = {});

/// Sets the options: first the file's, then the overrides.
void apply(const Arguments& arguments, Schema& schema);

}  // namespace octet
