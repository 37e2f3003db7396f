#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/dry_run/dry_run_options.h"
#include "src/cluster/profile.h"
#include "src/metrics/peak.h"
#include "src/run_config/run_config.h"
#include "src/train/plan/dry_timeline.h"
#include "src/train/plan/memory_plan.h"

namespace octet {

/// What a dry run is on, as far as it is known.
struct DryMachine {
  std::optional<ClusterProfile> cluster{};
  std::optional<GpuSheet> gpu{};
  int ranks_on_node = 8;
  double network = 0;      ///< bytes a second that a node sends to others
  double latency = 10e-6;  ///< seconds of a collective between nodes
  std::string links{};     ///< where these are from
};

/// The machine that the options describe. Usage error for a GPU that is in no table, and where the run's device is not
/// the machine's, or has more ranks than a node has GPUs.
DryMachine machine_of(const DryRunOptions& options, const RunConfig& config);

/// Why there is no timeline of so many ranks; empty where there is one.
std::string why_no_timeline(const DryMachine& machine, std::int64_t ranks);
/// The machine's rates, where there is one.
MachineRates rates_of(const DryMachine& machine);

/// Says whether such a plan fits its GPU, where one is known.
bool fits_gpu(const MemoryPlan& plan, const DryMachine& machine);
/// Lines that say whether such a plan of so many ranks fits its GPU and its node, as far as these are known.
std::string fit_text(const MemoryPlan& plan, const DryMachine& machine, std::int64_t ranks);

}  // namespace octet
