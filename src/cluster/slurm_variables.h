#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/profile.h"

namespace octet {

/// What becomes of an environment variable that Slurm's commands read in place of an option, where it comes from the
/// shell that submits: sbatch takes SBATCH_* before the lines of a script, and the job, which inherits the shell's
/// environment, hands SLURM_* on to its srun.
enum class ShellVariable {
  fights,    ///< changes what the script asks for or rests on: left out or unset, and refused where sbatch has used it
  choice,    ///< whose account, which partition: taken over where the profile says nothing, refused where it says other
  slurms,    ///< Slurm gives it to the job itself, or the script's command line comes before it
  harmless,  ///< changes nothing that a run notices
};

struct SlurmVariable {
  std::string_view name;
  std::string_view option;  ///< that it stands for
  ShellVariable kind;
  std::string_view why;  ///< empty for slurms and harmless
};

/// All that sbatch reads (man sbatch, INPUT ENVIRONMENT VARIABLES), of Slurm 22.05 to 25.05.
std::span<const SlurmVariable> sbatch_variables();
/// All that srun reads within a job.
std::span<const SlurmVariable> srun_variables();

/// The row of a variable in either table; null where it has none.
const SlurmVariable* find_slurm_variable(std::string_view name);

/// Where a profile says what a choice stands for; null for every other variable.
std::string SlurmProfile::*choice_field(std::string_view name);

/// Says whether a job must not inherit this variable of the shell that submits, nor sbatch see it: SBATCH_* that is no
/// choice and not harmless, whether the table has it or not, what an enclosing job or launcher has left (SLURM_*,
/// SRUN_*, PMI_*), and settings of squeue and scancel. What Slurm's commands need to find the cluster stays.
bool is_left_out(std::string_view name);

/// Lines of a job's script that unset the same, but for what the profile's slurm.options ask for.
std::string unset_lines(const ClusterProfile& profile);
/// Lines that end a job which sbatch was told, by SBATCH_* variables of the submitting shell, to run otherwise than the
/// script says, also in what the profile chooses: they call the function `refuse REASON`.
std::string refusing_lines(const SlurmProfile& profile);

}  // namespace octet
