#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "checkpoints/format.h"
#include "checkpoints/saver.h"

namespace octet::checkpoint {

/// This rank's part of a checkpoint in host memory, which stays from save to save and only grows.
class Snapshot {
 public:
  /// Copies the pieces `which` (indices into `pieces`) from the device and waits for the copy. Main thread, and not
  /// while the pieces of an earlier one are still being written.
  void take(std::span<const DevicePiece> pieces, std::span<const std::int32_t> which, Stream& stream);
  /// In the order of `which`. Valid until the next take().
  std::span<const PieceData> pieces() const { return pieces_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::int64_t capacity_ = 0;
  std::vector<PieceData> pieces_;
};

}  // namespace octet::checkpoint
