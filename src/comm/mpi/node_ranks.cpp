#include "src/comm/mpi/node_ranks.h"

#include <algorithm>

namespace octet {

NodeName sendable(const std::string& name) {
  NodeName out{};
  name.copy(out.data(), out.size() - 1);
  return out;
}

int first_rank_of_node(const std::vector<NodeName>& names, int rank) {
  const NodeName& mine = names[static_cast<std::size_t>(rank)];
  return static_cast<int>(std::ranges::find(names, mine) - names.begin());
}

}  // namespace octet
