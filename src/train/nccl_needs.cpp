#include "src/train/nccl_needs.h"

#include <array>
#include <set>
#include <string_view>

#include "src/train/trainer.h"

namespace octet {
namespace {

NcclTraffic of_gradients(const FsdpOptions& fsdp) {
  const bool exchanged = fsdp.gradient_wire == DType::bf16;
  return {.gathers = !exchanged, .exchanges = exchanged};
}

/// What a group does on the model's own stream (docs/communication.md).
NcclTraffic traffic_of(std::string_view name, const RunConfig& config, const FsdpOptions& fsdp) {
  if (name == "world" || name == "dp" || name == "replica") return {.agrees = true};
  if (name == "dp_replicate") return {.reduces = true};
  if (name == "tp") return {.gathers = true, .agrees = true, .exchanges = config.precision != Precision::fp32};
  if (name != "dp_shard" || fsdp.overlap) return {};
  NcclTraffic all = of_gradients(fsdp);
  return all |= {.gathers = true};
}

}  // namespace

std::vector<PlannedCommunicator> planned_communicators(const RunConfig& config, const MeshShape& mesh) {
  const FsdpOptions fsdp = fsdp_options(config, mesh.dp_shard);
  std::vector<PlannedCommunicator> all;
  const auto add = [&](const MeshGroup& group, const NcclTraffic& traffic) {
    std::vector<int> ranks = ranks_of(group, mesh, 0);
    if (ranks.size() > 1 || config.parallel.one_rank_exchange) all.push_back({group.name, std::move(ranks), traffic});
  };
  const auto first = first_of_equals(mesh);
  std::array<NcclTraffic, mesh_groups.size()> of_own{};  // of the groups that make a communicator
  std::array<bool, mesh_groups.size()> makes{};
  for (std::size_t i = 0; i < mesh_groups.size(); ++i) {
    const char* const name = mesh_groups[i].name;
    const bool shared = config.nccl.of(mesh_groups[first[i]].name) == config.nccl.of(name);
    makes[shared ? first[i] : i] = true;
    of_own[shared ? first[i] : i] |= traffic_of(name, config, fsdp);
  }
  for (std::size_t i = 0; i < mesh_groups.size(); ++i) {
    if (makes[i]) add(mesh_groups[i], of_own[i]);
  }
  const MeshGroup& dp_shard = mesh_group(GroupKind::dp_shard);
  if (fsdp.overlap) {
    add(dp_shard, {.gathers = true});
    add(dp_shard, of_gradients(fsdp));
  }
  if (config.parallel.async_tp) add(mesh_group(GroupKind::tp), {.exchanges = true});
  return all;
}

std::int64_t nccl_needs(const RunConfig& config, const MeshShape& mesh, int ranks_on_node) {
  if (config.device != "cuda") return 0;
  const int of_a_node = config.nccl.ranks_per_gpu > 1 ? 1 : ranks_on_node;  // ranks that share a GPU: a node each
  std::int64_t bytes = 0;
  for (const PlannedCommunicator& c : planned_communicators(config, mesh)) {
    std::set<int> nodes;
    for (const int rank : c.ranks) nodes.insert(rank / of_a_node);
    bytes +=
        nccl_bytes(static_cast<int>(c.ranks.size()), static_cast<int>(nodes.size()), config.nccl.of(c.name), c.traffic);
  }
  return bytes;
}

}  // namespace octet
