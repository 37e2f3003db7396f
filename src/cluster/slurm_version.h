#pragma once

#include <string>
#include <string_view>

namespace octet {

/// A release of Slurm by year and month; its patches add no options.
struct SlurmVersion {
  int year = 0, month = 0;
  bool operator==(const SlurmVersion&) const = default;
  bool operator<(const SlurmVersion& other) const {
    return year < other.year || (year == other.year && month < other.month);
  }
};

/// The oldest release that job scripts are written for.
inline constexpr SlurmVersion oldest_slurm{22, 5};

/// Reads what `sbatch --version` or `scontrol --version` prints ("slurm 22.05.8", "slurm-wlm 23.11.4"), or "24.05".
/// Usage error for a text without a version, and for releases before oldest_slurm.
SlurmVersion parse_slurm_version(std::string_view text);
/// "22.05".
std::string to_text(SlurmVersion version);

/// What job scripts do where Slurm has it.
enum class SlurmFeature {
  srun_ignores_cpus_per_task,  ///< srun reads SRUN_CPUS_PER_TASK instead of SLURM_CPUS_PER_TASK
  end_time_in_environment,     ///< SLURM_JOB_END_TIME
  block_topology,              ///< topology/block
  segment,                     ///< sbatch --segment
};

bool has(SlurmVersion version, SlurmFeature feature);

}  // namespace octet
