#include "checkpoints/snapshot.h"

namespace octet::checkpoint {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t bytes_of(const DevicePiece& piece) {
  return piece.box.extent.elements() * size_of(piece.tensor.dtype);
}

std::int64_t aligned_bytes_of(const DevicePiece& piece) {
  return (bytes_of(piece) + alignment - 1) / alignment * alignment;
}

}  // namespace

void Snapshot::take(std::span<const DevicePiece> pieces, std::span<const std::int32_t> which, Stream& stream) {
  std::int64_t bytes = 0;
  for (const std::int32_t i : which) bytes += aligned_bytes_of(pieces[static_cast<std::size_t>(i)]);
  pieces_.clear();
  if (bytes > memory_.bytes()) {
    memory_ = HostBuffer();  // give back the old one first
    memory_ = HostBuffer(stream.device(), bytes);
  }
  auto* to = memory_.as<char>();
  for (const std::int32_t i : which) {
    const DevicePiece& piece = pieces[static_cast<std::size_t>(i)];
    stream.device().copy_to_host(to, piece.data, bytes_of(piece), stream);
    pieces_.push_back({piece.tensor, piece.box, to});
    to += aligned_bytes_of(piece);
  }
  stream.synchronize();
}

}  // namespace octet::checkpoint
