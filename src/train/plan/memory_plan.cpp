#include "src/train/plan/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "src/base/error.h"
#include "src/train/plan/dry_run.h"
#include "src/train/step/model_state.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 0x1p20);
}

}  // namespace

std::int64_t MemoryPlan::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

std::string memory_table(const MemoryPlan& plan, const MemoryLedger* measured) {
  const auto row = [&](std::string_view name, std::int64_t planned, std::int64_t peak) {
    return measured == nullptr ? fmt::format("  {:<17} {:>12}\n", name, mebibytes(planned))
                               : fmt::format("  {:<17} {:>12} {:>12}\n", name, mebibytes(planned), mebibytes(peak));
  };
  std::string table = measured == nullptr ? fmt::format("  {:<17} {:>12}\n", "MiB a rank", "planned")
                                          : fmt::format("  {:<17} {:>12} {:>12}\n", "MiB a rank", "planned", "peak");
  for (int p = 0; p < static_cast<int>(Purpose::count); ++p) {
    const auto purpose = static_cast<Purpose>(p);
    table += row(name_of(purpose), plan[purpose], measured == nullptr ? 0 : measured->usage(purpose).peak);
  }
  table += row("total", plan.total(), measured == nullptr ? 0 : measured->total().peak);
  const auto beside = [&](std::string_view name, std::int64_t planned) {
    table += fmt::format("  {:<17} {:>12}\n", name, mebibytes(planned));
  };
  if (plan.nccl > 0) beside("NCCL, estimated", plan.nccl);
  if (plan.host > 0) beside("host, checkpoints", plan.host);
  return table;
}

namespace {

/// What ranks that share a device need of it.
struct Share {
  Device& on;
  int ranks;
  std::int64_t bytes;  ///< of each

  bool fits() const { return bytes * ranks <= on.available_bytes(); }
};

std::vector<Share> shares(const MemoryPlan& plan, Device& device, int ranks_on_node, int ranks_on_gpu) {
  if (device.type() == DeviceType::cpu) return {{device, ranks_on_node, plan.total() + plan.host}};
  return {{device, ranks_on_gpu, plan.total() + plan.nccl}, {cpu_device(), ranks_on_node, plan.host}};
}

}  // namespace

bool fits(const MemoryPlan& plan, Device& device, int ranks_on_node, int ranks_on_gpu) {
  return std::ranges::all_of(shares(plan, device, ranks_on_node, ranks_on_gpu), &Share::fits);
}

void check_fits(const MemoryPlan& plan, Device& device, int ranks_on_node, int ranks_on_gpu, const std::string& ways) {
  for (const auto& [on, ranks, bytes] : shares(plan, device, ranks_on_node, ranks_on_gpu)) {
    if (Share{on, ranks, bytes}.fits()) continue;
    throw usage_error("train",
                      "this run needs {} MiB on {} ({} rank(s) of {} MiB) and the device has {} MiB free; use "
                      "{} (docs/problems.md, \"It does not fit the device\")\n{}",
                      mebibytes(bytes * ranks), on.name(), ranks, mebibytes(bytes), mebibytes(on.available_bytes()),
                      on.type() == device.type() ? ways : "more nodes", memory_table(plan, nullptr));
  }
}

std::int64_t nccl_needs(const std::vector<DryGroup>& groups, const RunConfig& config, int ranks_on_node) {
  if (config.device != DeviceType::cuda) return 0;
  const int of_a_node = config.nccl.ranks_per_gpu > 1 ? 1 : ranks_on_node;  // ranks that share a GPU: a node each
  std::int64_t bytes = 0;
  for (const DryGroup& g : groups) {
    if (g.ranks.size() == 1 && !config.parallel.one_rank_exchange) continue;
    std::set<int> nodes;
    for (const int rank : g.ranks) nodes.insert(rank / of_a_node);
    bytes += nccl_bytes(static_cast<int>(g.ranks.size()), static_cast<int>(nodes.size()), config.nccl.of(g.name),
                        g.traffic, config.nccl.variables);
  }
  return bytes;
}

MemoryPlan plan_run(const RunConfig& config, const MeshShape& mesh, int rank, int ranks_on_node,
                    DeviceType workspaces) {
  DryRun dry(with_two_micro_batches(config, mesh), mesh, rank, workspaces);
  for (int i = 0; i < 2; ++i) dry.step();  // what the first one has taken, the second finds there
  if (dry.trainer().has_validation()) dry.validate();
  MemoryPlan plan;
  for (int p = 0; p < static_cast<int>(Purpose::count); ++p) {
    plan[static_cast<Purpose>(p)] = dry.ledger().usage(static_cast<Purpose>(p)).peak;
  }
  plan.nccl = nccl_needs(dry.groups(), config, ranks_on_node);
  plan.host = checkpoint_host_bytes(dry.trainer().model(), config, mesh, rank == 0);
  return plan;
}

namespace {

/// Decides what is left to a plan that was made with transposed weights. False: they are not kept, so that another plan
/// has to be made.
bool plan_holds(RunConfig& config, const MeshShape& mesh, const std::function<bool()>& there_is_room) {
  const bool left_to_us = config.float8.keep_transposed_weights == AutoBool::automatic &&
                          fsdp_options(config, mesh.dp_shard).keep_transposed;
  if (!left_to_us) return true;
  const bool keep = there_is_room();
  config.float8.keep_transposed_weights = keep ? AutoBool::yes : AutoBool::no;
  return keep;
}

}  // namespace

FittedRun fit_run(RunConfig config, const MeshShape& mesh, int rank, int ranks_on_node, DeviceType workspaces,
                  const std::function<bool(const MemoryPlan&)>& there_is_room) {
  MemoryPlan plan = plan_run(config, mesh, rank, ranks_on_node, workspaces);
  if (!plan_holds(config, mesh, [&] { return there_is_room(plan); })) {
    plan = plan_run(config, mesh, rank, ranks_on_node, workspaces);
  }
  return {std::move(config), plan};
}

std::size_t PipelineMemory::worst() const {
  const auto total = [](const MemoryPlan& plan) { return plan.total() + plan.nccl; };
  return static_cast<std::size_t>(std::ranges::max_element(ranks, {}, total) - ranks.begin());
}

int rank_of_stage(const MeshShape& mesh, std::size_t pp) {
  return static_cast<int>(pp) * mesh.dp_replicate * mesh.dp_shard * mesh.cp * mesh.tp;
}

PipelineMemory plan_pipeline(const RunConfig& config, const MeshShape& mesh, int ranks_on_node, DeviceType workspaces) {
  PipelineMemory memory;
  for (int pp = 0; pp < mesh.pp; ++pp) {
    const int rank = rank_of_stage(mesh, static_cast<std::size_t>(pp));
    memory.ranks.push_back(plan_run(config, mesh, rank, ranks_on_node, workspaces));
  }
  return memory;
}

FittedPipeline fit_pipeline(RunConfig config, const MeshShape& mesh, int ranks_on_node, DeviceType workspaces,
                            const std::function<bool(const MemoryPlan&)>& there_is_room) {
  PipelineMemory memory = plan_pipeline(config, mesh, ranks_on_node, workspaces);
  if (!plan_holds(config, mesh, [&] { return there_is_room(memory.ranks[memory.worst()]); })) {
    memory = plan_pipeline(config, mesh, ranks_on_node, workspaces);
  }
  return {std::move(config), std::move(memory)};
}

std::string pipeline_table(const PipelineMemory& memory) {
  std::string table =
      fmt::format("  {:>13} {:>12} {:>12} {:>12}\n", "pipeline rank", "MiB in all", "state", "activations");
  for (std::size_t pp = 0; pp < memory.ranks.size(); ++pp) {
    const MemoryPlan& plan = memory.ranks[pp];
    const std::int64_t state = plan[Purpose::parameters] + plan[Purpose::gradients] + plan[Purpose::optimizer];
    table += fmt::format("  {:>13} {:>12} {:>12} {:>12}{}\n", pp, mebibytes(plan.total()), mebibytes(state),
                         mebibytes(plan[Purpose::activations]), pp == memory.worst() ? "  the most" : "");
  }
  return table;
}

}  // namespace octet
