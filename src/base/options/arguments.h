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
  std::set<std::string> flags;                                 ///< those that were given

  bool has(const std::string& flag) const { return flags.contains(flag); }
};

/// What words are that belong to no option, for messages.
struct Positional {
  std::string plural = "configuration files";
  std::string hint{};    ///< what one too many may have been meant as: "; ..."
  std::string option{};  ///< the option of which they are values; empty: the one word is Arguments::file
  int most = 1;          ///< of such values; -1: any number, 0: there may be no such word
};

/// The words with the long names of options that have a letter: "-ofile" and "-o" "file" are "--output=file" and
/// "--output" "file". Words behind "--" stay as they are.
std::vector<std::string> with_long_names(const Schema& schema, const std::vector<std::string>& words);

/// Parses against the schema's names and the given flags, which ask for something else than the program's work (words
/// without a value, such as "help", which is -h too). Throws a usage error for an unknown option (with the nearest
/// known one), an option given twice or without a value, and words too many. Sets nothing.
Arguments parse_arguments(const Schema& schema, const std::vector<std::string>& flags, int argc,
                          const char* const* argv, const Positional& positional = {});

/// Sets the options: first the file's, then the overrides and flags.
void apply(const Arguments& arguments, Schema& schema);

/// Sets options that no file can give: their values stand as they are, bytes that are no UTF-8 among them, and those of
/// Option::several are one list.
void apply_words(const Arguments& arguments, Schema& schema);

}  // namespace octet
