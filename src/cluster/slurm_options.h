#pragma once

#include <string>
#include <string_view>

namespace octet {

/// One option of sbatch or srun, as it stands in slurm.options or launcher.srun_options: "--comment=my comment",
/// "--comment my comment", "-C ib", "-Cib", "--oversubscribe". Its value may stand in quotes.
struct SlurmOption {
  std::string name;  ///< "--comment"; for a letter that Octet knows its long name, else the letter: "-Z"
  std::string value;
  bool has_value = false;
};

/// Throws a usage error for a text that is no option.
SlurmOption parse_slurm_option(const std::string& text);

/// The option as it stands in a #SBATCH line: its value in quotes where it has spaces, so that it is one argument.
std::string sbatch_line(const SlurmOption& option);
/// The option as one argument of a command: "--comment=my comment".
std::string argument_of(const SlurmOption& option);

/// Why an option of sbatch must not stand in slurm.options: "slurm.partition of the profile, or --partition, says it",
/// "each task of an array would be a job of the same run". Empty where it may. sbatch takes the beginning of a name for
/// the name; that counts too.
std::string sbatch_option_problem(const SlurmOption& option, bool exclusive);
/// The same for launcher.srun_options.
std::string srun_option_problem(const SlurmOption& option);

}  // namespace octet
