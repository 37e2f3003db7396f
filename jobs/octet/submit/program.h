#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::submit {

/// What a program left behind.
struct ProgramResult {
  int exit_code = 0;  ///< 128 + n when signal n killed it
  std::string out, err;
};

/// The path of an executable file of that name on PATH; empty if there is none.
std::string find_program(const std::string& name);

/// Runs words[0], found on PATH, with the others as its arguments and `input` as its standard input, and waits for its
/// end. Throws an internal error where it cannot be started.
ProgramResult run_program(const std::vector<std::string>& words, std::string_view input = "");

/// The words as a person would type them.
std::string command_text(const std::vector<std::string>& words);

/// The same as run_program for one that has to succeed: its standard output. A usage error with what was run and what
/// it said where it does not.
std::string run_or_throw(const std::vector<std::string>& words, std::string_view input = "");

}  // namespace octet::submit
