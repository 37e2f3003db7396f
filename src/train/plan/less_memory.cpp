#include "src/train/plan/less_memory.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace octet {

std::string ways_to_less_memory(const RunConfig& config, const MeshShape& mesh, int ranks_on_node,
                                const std::string& more) {
  std::vector<std::string> ways = {"more " + more};
  if (config.train.micro_batch > 1) ways.emplace_back("a smaller train.micro_batch");
  const Zero zero = config.parallel.zero_with(mesh.dp_shard);
  if (mesh.dp_shard > 1 && zero == Zero::one) ways.emplace_back("parallel.zero 2 or 3");
  if (mesh.dp_shard > 1 && zero == Zero::two) ways.emplace_back("parallel.zero 3");
  if (config.recompute.mode != RecomputeMode::full) ways.emplace_back("recompute.mode full");
  if (mesh.tp < std::min<std::int64_t>(ranks_on_node, config.model.kv_heads)) {
    ways.push_back(fmt::format("parallel.tp above {}", mesh.tp));
  }
  const std::string last = "a smaller train.seq_len";
  return fmt::format("{} or {}", fmt::join(ways, ", "), last);
}

}  // namespace octet
