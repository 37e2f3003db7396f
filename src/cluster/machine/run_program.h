#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What a program left behind.
struct ProgramResult {
  bool found = false;      ///< false: there is no such program, and all else is empty
  bool timed_out = false;  ///< it was killed
  int exit_code = -1;      ///< as a shell reports it: 128 + n when signal n ended it
  std::string out, err;

  bool succeeded() const { return found && !timed_out && exit_code == 0; }
  /// Why there is no result, on one line: "nvidia-smi is not there", "dmesg ended with 1: ...". `program`: its name.
  std::string failure(const std::string& program) const;
};

/// Runs a program found on PATH with these arguments (the first is its name) and `input` as its standard input, and
/// kills it with all that it started after `seconds`. One that cannot be killed, as in a driver that hangs, is left
/// behind after a further second. What a program that has ended leaves at work goes on, and is heard for half a second
/// where it has the program's output. A program outlives this process but for end_programs_with_us()
/// (running_program.h). Any thread. Internal error where the system refuses a pipe, a file or a process.
ProgramResult run_program(const std::vector<std::string>& command, double seconds, std::string_view input = "");

}  // namespace octet
