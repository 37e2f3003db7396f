#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoints/format.h"
#include "checkpoints/saver.h"
#include "src/device/host_buffer.h"

namespace octet::checkpoint {

/// This rank's part of a checkpoint in host memory, which stays from save to save and only grows.
class Snapshot {
 public:
  /// Takes the memory that a take() of the same pieces needs, and touches it: the first access to a page costs many
  /// times the copy of its bytes. Nothing where there is enough. As take() in all else.
  void reserve(std::span<const DevicePiece> pieces, std::span<const std::int32_t> which, Stream& stream);
  /// Copies the pieces `which` (indices into `pieces`) from the device and waits for the copy. Main thread, and not
  /// while the pieces of an earlier one are still being written.
  void take(std::span<const DevicePiece> pieces, std::span<const std::int32_t> which, Stream& stream);
  /// In the order of `which`. Valid until the next take().
  std::span<const PieceData> pieces() const { return pieces_; }

 private:
  HostBuffer memory_;
  std::vector<PieceData> pieces_;
};

}  // namespace octet::checkpoint
