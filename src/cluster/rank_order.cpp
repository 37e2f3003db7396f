#include "src/cluster/rank_order.h"

#include <algorithm>
#include <unordered_map>

namespace octet {
namespace {

/// Host to the number of its leaf; the first that names it counts.
class LeafNumbers {
 public:
  explicit LeafNumbers(const SlurmTopology& topology) : none_(topology.leaves.size()) {
    for (std::size_t i = 0; i < topology.leaves.size(); ++i) {
      for (const std::string& host : topology.leaves[i].hosts) numbers_.emplace(host, i);
    }
  }
  std::size_t operator()(const std::string& host) const {
    const auto found = numbers_.find(host);
    return found == numbers_.end() ? none_ : found->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::size_t none_;
};

}  // namespace

std::vector<std::string> order_by_leaf(const std::vector<std::string>& hosts, const SlurmTopology& topology) {
  const LeafNumbers leaf(topology);
  std::vector<std::string> out = hosts;
  std::ranges::stable_sort(out, {}, leaf);
  return out;
}

std::size_t leaf_crossings(const std::vector<std::string>& hosts, const SlurmTopology& topology) {
  const LeafNumbers leaf(topology);
  std::size_t crossings = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    crossings += leaf(hosts[i]) != leaf(hosts[(i + 1) % hosts.size()]) ? 1 : 0;
  }
  return crossings;
}

}  // namespace octet
