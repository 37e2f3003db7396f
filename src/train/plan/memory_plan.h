#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/comm/dry_communicator.h"
#include "src/comm/mesh.h"
#include "src/device/device.h"
#include "src/run_config/run_config.h"

namespace octet {

/// Bytes of one rank by purpose, known before anything is allocated (plan_run).
struct MemoryPlan {
  std::array<std::int64_t, static_cast<int>(Purpose::count)> bytes{};  ///< on the device
  std::int64_t nccl = 0;  ///< what NCCL takes of the device beside them: an upper estimate (nccl_needs)
  std::int64_t host = 0;  ///< of checkpoints: memory of the host, also where that is the device

  std::int64_t& operator[](Purpose p) { return bytes[static_cast<std::size_t>(p)]; }
  std::int64_t operator[](Purpose p) const { return bytes[static_cast<std::size_t>(p)]; }
  std::int64_t total() const;  ///< of the device's purposes
};

/// A line a purpose; with a ledger the measured peak beside it. NCCL's, which no ledger knows, is marked as estimated.
std::string memory_table(const MemoryPlan& plan, const MemoryLedger* measured);

/// Says whether such ranks fit: all of a node share its memory, `ranks_on_gpu` that of a GPU.
bool fits(const MemoryPlan& plan, Device& device, int ranks_on_node, int ranks_on_gpu = 1);
/// Usage error with the table when they do not. `ways`: what would make a rank need less of its device (less_memory.h).
void check_fits(const MemoryPlan& plan, Device& device, int ranks_on_node, int ranks_on_gpu = 1,
                const std::string& ways = "more ranks");

/// Bytes of a GPU that NCCL takes for the communicators of a run (DryRun::groups), with `ranks_on_node` ranks on each
/// node, which follow each other, and the run's variables (config.nccl.variables): the upper estimate of
/// src/comm/nccl_footprint.h. 0 where no NCCL is used: on device cpu, or for one rank.
std::int64_t nccl_needs(const std::vector<DryGroup>& groups, const RunConfig& config, int ranks_on_node);

/// The memory of that rank of the run on that mesh, with workspaces of the size of that device's kernels: the peaks of
/// a few steps that are run dry (dry_run.h). `ranks_on_node`: for what NCCL takes.
MemoryPlan plan_run(const RunConfig& config, const MeshShape& mesh, int rank, int ranks_on_node, DeviceType workspaces);

/// A run of which nothing is left to the plan of its memory.
struct FittedRun {
  RunConfig config;
  MemoryPlan plan;
};
/// Decides what float8.keep_transposed_weights `auto` leaves to the memory plan: transposed weights are kept, unless
/// `there_is_room` says that they do not fit. `config` of the result says which.
FittedRun fit_run(RunConfig config, const MeshShape& mesh, int rank, int ranks_on_node, DeviceType workspaces,
                  const std::function<bool(const MemoryPlan&)>& there_is_room);

/// The plans of the ranks of a pipeline, which have different stages: of one of each. Without a pipeline of one.
struct PipelineMemory {
  std::vector<MemoryPlan> ranks;  ///< by rank in the pipeline

  std::size_t worst() const;  ///< the one whose device needs most
};
PipelineMemory plan_pipeline(const RunConfig& config, const MeshShape& mesh, int ranks_on_node, DeviceType workspaces);

/// Such a run with the plans of all stages.
struct FittedPipeline {
  RunConfig config;
  PipelineMemory memory;
};
/// As fit_run, for all ranks: `there_is_room` is asked of the one whose device needs most.
FittedPipeline fit_pipeline(RunConfig config, const MeshShape& mesh, int ranks_on_node, DeviceType workspaces,
                            const std::function<bool(const MemoryPlan&)>& there_is_room);
/// The rank of the world that is meant by that rank of the pipeline.
int rank_of_stage(const MeshShape& mesh, std::size_t pp);
/// A line a rank of the pipeline: total, and what differs most between them.
std::string pipeline_table(const PipelineMemory& memory);

}  // namespace octet
