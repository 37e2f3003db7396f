#include "checkpoints/save/save_share.h"

#include <algorithm>

#include "src/base/log.h"
#include "src/comm/agreement.h"
#include "src/comm/control_exchange.h"
#include "src/comm/packing.h"

namespace octet::checkpoint {
namespace {

/// A rank's number, from the first of its group, and that of every rank.
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

WriterGroup make_writer_group(int writers_per_node, Communicator& control) {
  WriterGroup group;
  if (writers_per_node == 0) return group;
  const auto node = control.split_by_node("node");
  if (writers_per_node > node->size()) {
    log::shared_warning("checkpoint.writers_per_node = {}, but this node has {} rank(s): each writes its own file",
                        writers_per_node, node->size());
  }
  group.ranks = node->split(group_of(node->rank(), node->size(), writers_per_node), node->rank(), "checkpoint writers");
  const int first = unpacked(broadcast_bytes(packed(control.rank()), 0, *group.ranks));
  for (const std::string& writer : gather_bytes(packed(first), control)) group.writer.push_back(unpacked(writer));
  if (group.ranks->size() == 1) group.ranks.reset();
  return group;
}

namespace {

std::string packed(const std::vector<std::int32_t>& places) {
  Packer packer;
  packer.put(std::ssize(places));
  for (const std::int32_t place : places) packer.put(place);
  return packer.bytes();
}
std::vector<std::int32_t> places_of(const std::string& bytes) {
  Unpacker unpacker(bytes);
  std::vector<std::int32_t> places(static_cast<std::size_t>(unpacker.take<std::ptrdiff_t>()));
  for (std::int32_t& place : places) place = unpacker.take<std::int32_t>();
  unpacker.expect_end();
  return places;
}

std::vector<DevicePiece> chosen(std::span<const DevicePiece> pieces, const std::vector<std::int32_t>& places) {
  std::vector<DevicePiece> some;
  some.reserve(places.size());
  for (const std::int32_t place : places) some.push_back(pieces[static_cast<std::size_t>(place)]);
  return some;
}

}  // namespace

std::int64_t SaveShare::host_bytes() const {
  std::int64_t bytes = std::ssize(copies) * bytes_of_copy();
  for (const std::vector<DevicePiece>& of_member : group) {
    for (const DevicePiece& piece : of_member) bytes += bytes_in_group(piece.tensor);
  }
  return bytes;
}

SharedPlan plan_together(std::span<const DevicePiece> pieces, const WriterGroup& group, Communicator& control) {
  SharedPlan shared;
  std::vector<std::string> places;
  std::vector<std::string> descriptions = gather_bytes_to(0, describe_pieces(pieces), control);
  together("checkpoints", "these tensors cannot be saved", control, [&] {
    if (control.rank() != 0) return;
    PlannedSave planned = plan_save(std::move(descriptions), group.writer);
    shared.plan = std::move(planned.plan);
    for (const std::vector<std::int32_t>& of_rank : planned.places) places.push_back(packed(of_rank));
  });
  shared.share.copies = places_of(scatter_bytes(places, 0, control));
  if (group.ranks == nullptr) return shared;
  const std::string mine = describe_pieces(chosen(pieces, shared.share.copies));
  for (const std::string& of_member : gather_bytes_to(0, mine, *group.ranks)) {
    shared.share.group.push_back(described_pieces(of_member));
  }
  return shared;
}

}  // namespace octet::checkpoint
