#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// The options of `octet-train RUN.yaml --dry-run` beside those of the run.
struct DryRunOptions {
  std::int64_t ranks = 0;           ///< of the run; 0: not given
  std::int64_t rank = 0;            ///< whose part is shown
  std::string cluster;              ///< profile whose GPUs and links it runs on
  std::string gpu;                  ///< or a GPU of the table in src/metrics/peak.cpp
  std::int64_t ranks_per_node = 0;  ///< 0: the profile's, else 8
  std::string trace;                ///< file for what comm.trace writes; empty: none
  std::string timeline;             ///< file for the timeline; empty: none
};

/// Whether a command line asks for a dry run.
bool asks_for_dry_run(const std::vector<std::string>& words);

/// For --help of octet-train.
std::string dry_run_usage();

/// Memory plan, collectives and timeline of one rank of the run, without MPI, data or a device (src/train/dry_run.h):
/// what is printed. Writes the files that it is asked for. Throws usage errors.
std::string dry_run(const std::vector<std::string>& words);

/// Prints it; what is wrong goes to the log. Returns the exit code.
int dry_run_main(const std::vector<std::string>& words);

}  // namespace octet
