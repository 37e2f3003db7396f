#include "src/train/plan/nccl_needs.h"

#include <set>

namespace octet {

std::int64_t nccl_needs(const std::vector<DryGroup>& groups, const RunConfig& config, int ranks_on_node) {
  if (config.device != DeviceType::cuda) return 0;
  const int of_a_node = config.nccl.ranks_per_gpu > 1 ? 1 : ranks_on_node;  // ranks that share a GPU: a node each
  std::int64_t bytes = 0;
  for (const DryGroup& g : groups) {
    if (g.ranks.size() == 1 && !config.parallel.one_rank_exchange) continue;
    std::set<int> nodes;
    for (const int rank : g.ranks) nodes.insert(rank / of_a_node);
    bytes +=
        nccl_bytes(static_cast<int>(g.ranks.size()), static_cast<int>(nodes.size()), config.nccl.of(g.name), g.traffic);
  }
  return bytes;
}

}  // namespace octet
