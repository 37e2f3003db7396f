#include "src/train/plan/less_memory.h"

#include <fmt/ranges.h>

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
  for (int tp = mesh.tp + 1; tp <= ranks_on_node; ++tp) {
    if (ranks_on_node % tp != 0 || config.model.kv_heads % tp != 0) continue;
    ways.push_back(fmt::format("parallel.tp {}", tp));
    break;
  }
  const std::string last = "a smaller train.seq_len";
  return fmt::format("{} or {}", fmt::join(ways, ", "), last);
}

}  // namespace octet
