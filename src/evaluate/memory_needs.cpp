#include "src/evaluate/memory_needs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/agreement.h"
#include "src/comm/dry_communicator.h"
#include "src/evaluate/generator.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/train/plan/nccl_variables.h"

namespace octet {
namespace {

/// On the CPU ranks of one node share its memory. Recipes that cast where a GEMM reads keep weights in bf16.
std::string ways_to_less(const LlamaSettings& settings, DeviceType type) {
  const char* more = type == DeviceType::cpu ? "nodes" : "ranks";
  std::vector<std::string> ways{fmt::format("octet-evaluate on more {} with a larger --tp", more)};
  if (settings.precision == Precision::fp32) ways.emplace_back("--precision bf16");
  if (settings.precision != Precision::float8) {
    ways.emplace_back("--precision float8 --float8.recipe tensorwise");
  } else if (!recipe_of(settings.precision, settings.float8)->casts_first()) {
    ways.emplace_back("--float8.recipe tensorwise");
  }
  const char* last = settings.cache_rows > 0 ? "fewer --tokens" : "a smaller --window and --row-tokens";
  return fmt::format("{} or {}", fmt::join(ways, ", "), last);
}

}  // namespace

MemoryPlan plan_forward(const LlamaSettings& settings, const MeshShape& mesh, int rank, int ranks_on_node,
                        DeviceType type, DeviceType workspaces) {
  const auto device = make_dry_device(type, workspaces, nullptr);
  const auto stream = device->make_stream();
  std::vector<DryGroup> groups;
  Mesh dry(make_dry_communicator(
               {.shape = mesh, .rank = rank, .made = &groups, .in_rank_order = type == DeviceType::cpu}, *stream),
           mesh);
  ForwardModel model(settings, dry, *stream);
  model.load([](const ParameterList&, const ShardedBuffer&) {});
  std::optional<Generator> generator;
  // A pass: what it sends decides how NCCL connects the ranks, and sums of the CPU's have scratch.
  if (settings.cache_rows > 0) {
    generator.emplace(model, dry, *stream);
    const std::int64_t largest = std::min(settings.cache_rows, settings.cached_passes(type).back());
    generator->extend(std::vector<std::int32_t>(static_cast<std::size_t>(largest)));
  } else {
    model.llama().score({.scored = {.n = model.row_tokens()}}, model.weights());
  }
  MemoryPlan plan;
  for (int p = 0; p < static_cast<int>(Purpose::count); ++p) {
    plan[static_cast<Purpose>(p)] = device->ledger().usage(static_cast<Purpose>(p)).now;
  }
  // Masters exist only while weights are loaded: they count as far as they exceed what is allocated later.
  plan[Purpose::parameters] += device->ledger().total().peak - device->ledger().total().now;
  RunConfig config;
  config.device = type;
  config.nccl.variables = nccl_variables();
  plan.nccl = nccl_needs(groups, config, ranks_on_node);
  return plan;
}

void expect_room(const LlamaSettings& settings, Mesh& mesh, Device& device, Communicator& control) {
  const int ranks_on_node = control.split_by_node("memory")->size();
  together("evaluate", "memory", control, [&] {
    const MemoryPlan plan =
        plan_forward(settings, mesh.shape(), mesh.world().rank(), ranks_on_node, device.type(), device.workspaces());
    check_fits(plan, device, ranks_on_node, 1, ways_to_less(settings, device.type()));
  });
}

}  // namespace octet
