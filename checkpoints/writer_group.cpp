#include "checkpoints/writer_group.h"

#include <algorithm>

#include "checkpoints/agreement.h"
#include "checkpoints/packing.h"
#include "src/base/log.h"
#include "src/comm/host_exchange.h"

namespace octet::checkpoint {
namespace {

/// A rank's number, from the first of its group, and that of every rank of the world.
std::string packed(int rank) {
  Packer packer;
  packer.put(static_cast<std::int32_t>(rank));
  return packer.bytes();
}
int unpacked(const std::string& bytes) {
  return Unpacker(bytes).take<std::int32_t>();
}

}  // namespace

int group_of(int local_rank, int local_size, int writers) {
  return static_cast<int>(std::int64_t{local_rank} * std::min(writers, local_size) / local_size);
}

WriterGroup make_writer_group(int writers_per_node, Communicator& world) {
  WriterGroup group;
  if (writers_per_node == 0) return group;
  const auto node = world.split_by_node("node");
  if (writers_per_node > node->size()) {
    log::shared_warning("checkpoint.writers_per_node = {}, but this node has {} rank(s): each writes its own file",
                        writers_per_node, node->size());
  }
  group.ranks = node->split(group_of(node->rank(), node->size(), writers_per_node), node->rank(), "checkpoint writers");
  const int first = unpacked(broadcast_bytes(packed(world.rank()), 0, *group.ranks));
  for (const std::string& writer : gather_bytes(packed(first), world)) group.writer.push_back(unpacked(writer));
  if (group.ranks->size() == 1) group.ranks.reset();
  return group;
}

}  // namespace octet::checkpoint
