#include "checkpoints/snapshot.h"

#include <cstring>

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

void Snapshot::reserve(std::span<const DevicePiece> pieces, std::span<const std::int32_t> which, Stream& stream) {
  std::int64_t bytes = 0;
  for (const std::int32_t i : which) bytes += aligned_bytes_of(pieces[static_cast<std::size_t>(i)]);
  if (bytes <= memory_.bytes()) return;
  pieces_.clear();
  memory_ = HostBuffer();  // give back the old one first
  memory_ = HostBuffer(stream.device(), bytes);
  std::memset(memory_.data(), 0, static_cast<std::size_t>(bytes));
}

void Snapshot::take(std::span<const DevicePiece> pieces, std::span<const std::int32_t> which, Stream& stream) {
  reserve(pieces, which, stream);
  pieces_.clear();
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
