#include "checkpoints/save/snapshot.h"

#include <cstring>

#include "src/base/round_up.h"
#include "src/comm/watchdog.h"

namespace octet::checkpoint {
namespace {

constexpr std::int64_t alignment = 64;

/// The first access to a page costs many times the copy of its bytes.
void touch(char* memory, std::int64_t bytes) {
  if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));  // a rank that keeps nothing has no memory
}

/// Ranks of the world that `writer` writes for, in the order of its group.
std::vector<std::size_t> members_of(const SavePlan& plan, int writer) {
  std::vector<std::size_t> ranks;
  for (std::size_t r = 0; r < plan.writer.size(); ++r) {
    if (plan.writer[r] == writer) ranks.push_back(r);
  }
  return ranks;
}

}  // namespace

std::vector<std::int64_t> snapshot_offsets(const std::vector<StoredTensor>& tensors,
                                           std::span<const SavePlan::Piece> pieces) {
  std::vector<std::int64_t> offsets{0};
  for (const SavePlan::Piece& piece : pieces) {
    const std::int64_t bytes =
        piece.box.extent.elements() * size_of(tensors[static_cast<std::size_t>(piece.tensor)].dtype);
    offsets.push_back(offsets.back() + round_up(bytes, alignment));
  }
  return offsets;
}

void Snapshot::reserve(const SavePlan& plan, int rank, Stream& stream) {
  const auto bytes_of = [&](std::size_t r) { return snapshot_offsets(plan.tensors, plan.copies[r]).back(); };
  const std::int64_t mine = bytes_of(static_cast<std::size_t>(rank));
  pieces_.clear();
  if (group_ == nullptr) {
    if (mine <= alone_.bytes()) return;
    alone_ = HostBuffer();  // give back the old one first
    alone_ = HostBuffer(stream.device(), mine);
    touch(alone_.as<char>(), mine);
    return;
  }
  // The same answer on every rank of the group, since each knows what all need.
  bool fits = true;
  int member = 0;
  for (const std::size_t r : members_of(plan, plan.writer[static_cast<std::size_t>(rank)])) {
    fits = fits && bytes_of(r) <= shared_.bytes(member++);
  }
  if (fits) return;
  shared_ = SharedMemory();
  shared_ = SharedMemory(*group_, mine);
  touch(memory_of(group_->rank()), mine);
}

void Snapshot::take(std::span<const DevicePiece> pieces, const SavePlan& plan, int rank, Stream& stream) {
  const std::vector<SavePlan::Piece>& copies = plan.copies[static_cast<std::size_t>(rank)];
  const std::vector<std::int64_t> offsets = snapshot_offsets(plan.tensors, copies);
  char* const to = memory_of(group_ == nullptr ? 0 : group_->rank());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const DevicePiece& piece = pieces[static_cast<std::size_t>(plan.mine[i])];
    const std::int64_t bytes = piece.box.extent.elements() * size_of(piece.tensor.dtype);
    stream.device().copy_to_host(to + offsets[i], piece.data, bytes, stream);
  }
  const OperationScope operation("wait for the device");
  stream.synchronize();
  pieces_.clear();
  int member = 0;
  for (const std::size_t r : members_of(plan, rank)) {
    const std::vector<std::int64_t> places = snapshot_offsets(plan.tensors, plan.copies[r]);
    for (std::size_t i = 0; i < plan.copies[r].size(); ++i) {
      const SavePlan::Piece& piece = plan.copies[r][i];
      pieces_.push_back(
          {plan.tensors[static_cast<std::size_t>(piece.tensor)], piece.box, memory_of(member) + places[i]});
    }
    ++member;
  }
}

}  // namespace octet::checkpoint
