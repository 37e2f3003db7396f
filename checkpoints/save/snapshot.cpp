#include "checkpoints/save/snapshot.h"

#include <cstring>
#include <exception>
#include <utility>

#include "src/base/round_up.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"

namespace octet::checkpoint {
namespace {

constexpr std::int64_t alignment = 64;

/// The first access to a page costs many times the copy of its bytes.
void touch(char* memory, std::int64_t bytes) {
  if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));  // a rank that keeps nothing has no memory
}

std::int64_t padded_bytes(const DevicePiece& piece) {
  return round_up(piece.box.extent.elements() * size_of(piece.tensor.dtype), alignment);
}

}  // namespace

std::vector<std::int64_t> snapshot_offsets(std::span<const DevicePiece> pieces, std::span<const std::int32_t> places) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int32_t i : places) {
    offsets.push_back(offsets.back() + padded_bytes(pieces[static_cast<std::size_t>(i)]));
  }
  return offsets;
}

std::optional<Failure> Snapshot::reserve(std::span<const DevicePiece> pieces, const SaveShare& share, Stream& stream) {
  pieces_.clear();
  if (group_ != nullptr) return reserve_together(pieces, share);
  return failure_of([&] { reserve_alone(snapshot_offsets(pieces, share.copies).back(), stream.device()); });
}

void Snapshot::reserve_alone(std::int64_t bytes, Device& device) {
  if (bytes <= alone_.bytes()) return;
  alone_ = HostBuffer();  // give back the old one first
  alone_ = HostBuffer(device, bytes);
  touch(alone_.as<char>(), bytes);
}

std::optional<Failure> Snapshot::reserve_together(std::span<const DevicePiece> pieces, const SaveShare& share) {
  enum Need : std::int32_t { none, more, failed };
  std::int64_t bytes = 0;
  SharedMemory next;
  std::optional<Failure> failure = failure_of([&] {
    bytes = snapshot_offsets(pieces, share.copies).back();
    next = SharedMemory(*group_);  // on each rank, since all take part where one needs more
  });
  const Need mine = failure ? failed : bytes > shared_.bytes(group_->rank()) ? more : none;
  if (largest(mine, *group_) != more) return failure;
  shared_ = SharedMemory();  // give back the old one first
  try {
    next.share(bytes);
  } catch (const Error& error) {
    if (error.code() == ExitCode::lost_peer) throw;
    return Failure{error.code(), error.what()};
  } catch (const std::exception& error) {
    return Failure{ExitCode::internal, error.what()};
  }
  shared_ = std::move(next);
  touch(memory_of(group_->rank()), bytes);
  return std::nullopt;
}

std::int64_t Snapshot::bytes() const {
  std::int64_t bytes = group_ == nullptr ? alone_.bytes() : shared_.bytes(group_->rank());
  for (const PieceData& piece : pieces_) bytes += listed_bytes(piece.tensor);
  return bytes;
}

void Snapshot::list(const DevicePiece& piece, const char* data) {
  pieces_.push_back({piece.tensor, piece.box, data});
}

void Snapshot::take(std::span<const DevicePiece> pieces, const SaveShare& share, Stream& stream) {
  const std::vector<std::int64_t> offsets = snapshot_offsets(pieces, share.copies);
  char* const to = memory_of(group_ == nullptr ? 0 : group_->rank());
  pieces_.clear();
  for (std::size_t i = 0; i < share.copies.size(); ++i) {
    const DevicePiece& piece = pieces[static_cast<std::size_t>(share.copies[i])];
    const std::int64_t bytes = piece.box.extent.elements() * size_of(piece.tensor.dtype);
    stream.device().copy_to_host(to + offsets[i], piece.data, bytes, stream);
    if (group_ == nullptr) list(piece, to + offsets[i]);
  }
  const OperationScope operation("wait for the device");
  stream.synchronize();
  for (std::size_t member = 0; member < share.group.size(); ++member) {
    const char* data = memory_of(static_cast<int>(member));
    for (const DevicePiece& piece : share.group[member]) {
      list(piece, data);
      data += padded_bytes(piece);
    }
  }
}

}  // namespace octet::checkpoint
