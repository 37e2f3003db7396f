#pragma once

#include <cstdint>
#include <string>

#include "src/base/options/schema.h"
#include "src/cluster/profile_words.h"

namespace octet {

/// The options of `octet-train RUN.yaml --dry-run` beside those of the run.
struct DryRunOptions {
  std::int64_t ranks = 0;           ///< of the run; 0: not given
  std::int64_t rank = 0;            ///< whose part is shown
  std::string cluster;              ///< profile whose GPUs and links it runs on
  ProfileOverrides overrides{};     ///< of it
  std::string gpu;                  ///< or a GPU of the table in src/metrics/peak.cpp
  std::int64_t ranks_per_node = 0;  ///< 0: the profile's, else 8
  std::string trace;                ///< file for what comm.trace writes; empty: none
  std::string timeline;             ///< file for the timeline; empty: none
  std::string schedule;             ///< file for the picture of a pipeline's passes; empty: none
  std::string order;                ///< file for what waits for what; empty: none
};

void declare(Schema& schema, DryRunOptions& options);

/// The text for --help of octet-train.
std::string dry_run_usage();

}  // namespace octet
