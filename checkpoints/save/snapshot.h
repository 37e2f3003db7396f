#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/save/save_share.h"
#include "src/comm/agreement.h"
#include "src/comm/shared_memory.h"
#include "src/device/host_buffer.h"

namespace octet::checkpoint {

/// The offset in bytes of each of those pieces in the snapshot, and after the last one the length of the snapshot.
std::vector<std::int64_t> snapshot_offsets(std::span<const DevicePiece> pieces, std::span<const std::int32_t> places);

/// This rank's part of a checkpoint in host memory, which stays from save to save and only grows. In a group of ranks
/// of which one writes for all, every rank copies into memory that the writer sees and nobody waits for another's copy.
/// Main thread. Nothing here changes what a writer still reads: by the saver's agreements a save begins on every rank
/// after the one before has been written on all.
class Snapshot {
 public:
  /// `group` as in WriterGroup; null, or it outlives this.
  explicit Snapshot(Communicator* group) : group_(group) {}

  /// Takes memory for this rank's share of those pieces. Collective over the group: whatever fails on one of its ranks,
  /// the call returns on all of them (but for a lack of the few bytes that any collective takes for itself). Returns
  /// this rank's failure; throws only when a peer is lost, after which no agreement is possible.
  std::optional<Failure> reserve(std::span<const DevicePiece> pieces, const SaveShare& share, Stream& stream);
  /// Copies its share of the pieces from the device and waits for the copy. Not collective.
  void take(std::span<const DevicePiece> pieces, const SaveShare& share, Stream& stream);
  /// What this rank writes, of its own and its group's; whole when every rank of the group has taken its own. Valid
  /// until the next reserve().
  std::span<const PieceData> pieces() const { return pieces_; }
  /// Host memory of this rank: of the data, and of the list of pieces, a piece of which takes listed_bytes.
  std::int64_t bytes() const;
  static std::int64_t listed_bytes(const StoredTensor& tensor) {
    return static_cast<std::int64_t>(sizeof(PieceData) + tensor.name.size());
  }

 private:
  void reserve_alone(std::int64_t bytes, Device& device);
  std::optional<Failure> reserve_together(std::span<const DevicePiece> pieces, const SaveShare& share);
  void list(const DevicePiece& piece, const char* data);
  char* memory_of(int member) const { return group_ == nullptr ? alone_.as<char>() : shared_.part(member); }

  Communicator* group_;
  HostBuffer alone_;     ///< without a group
  SharedMemory shared_;  ///< with one. Not pinned: copies from a GPU to it are staged by CUDA, and take longer
  std::vector<PieceData> pieces_;
};

}  // namespace octet::checkpoint
