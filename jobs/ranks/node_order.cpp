#include "jobs/ranks/node_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "src/base/log.h"
#include "src/comm/control_exchange.h"

namespace octet {

std::string scattered_ranks(const std::vector<std::string>& nodes) {
  std::map<std::string, std::size_t> latest;  // rank of each node
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const auto [known, is_new] = latest.try_emplace(nodes[rank], rank);
    if (!is_new && known->second + 1 != rank) {
      return fmt::format("rank {} is on {} as rank {} is, rank {} on {}", rank, nodes[rank], known->second, rank - 1,
                         nodes[rank - 1]);
    }
    known->second = rank;
  }
  return "";
}

void warn_of_scattered_ranks(const std::string& node, Communicator& control) {
  const std::vector<std::string> nodes = gather_bytes_to(0, node, control);
  const std::string where = scattered_ranks(nodes);
  if (where.empty()) return;
  log::warning(
      "the ranks of a node do not follow each other ({}): what is planned for neighbours (tensor parallelism, smaller "
      "groups, NCCL's memory) has them on different nodes; expected them in a row, as by srun --distribution=block or "
      "mpiexec -ppn {} (docs/problems.md, \"It is slower than expected\")",
      where, std::ranges::count(nodes, nodes.front()));
}

}  // namespace octet
