#pragma once

#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/cluster/machine/run_program.h"

namespace octet::submit {

/// The path of an executable file of that name on PATH; empty if there is none.
std::string find_program(const std::string& name);

/// Seconds that Slurm's commands are waited for: a controller that restarts or is overloaded takes minutes to answer.
inline constexpr double slurm_patience = 900;

/// The same where somebody only wants to look: Slurm's own commands give up after 10 s by default. Tests shorten it
/// (OCTET_TEST_SLURM_SECONDS).
double onlooker_patience();

/// What is wrong with SLURM_CONF, if it names no file: Slurm's commands look for it for a minute before they say so.
/// Empty where nothing is wrong.
std::string why_no_slurm_conf();

/// The words as a person would type them.
std::string command_text(const std::vector<std::string>& words);

/// "sbatch ended with 1", "sbatch did not answer in time": for messages that quote the whole of what it said.
std::string ending(const ProgramResult& result, const std::string& program);

/// run_program of one of Slurm's commands that has to succeed: its standard output. A usage error with what was run and
/// what it said where it does not.
std::string run_or_throw(const std::vector<std::string>& words);

/// What one of Slurm's commands printed, or why it did not do its work.
struct SlurmAnswer {
  std::string out{};
  std::string silence{};  ///< why there is none, in one line with Slurm's own reason; empty where it answered
  ExitCode code = ExitCode::finished;  ///< of a program that needed it: usage where Slurm was not asked

  bool came() const { return code == ExitCode::finished; }
};

/// Runs one of Slurm's commands that ask its controller, for so many seconds.
SlurmAnswer ask_controller(const std::vector<std::string>& words, double seconds);

}  // namespace octet::submit
