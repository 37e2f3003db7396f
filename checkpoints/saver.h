#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "checkpoints/format.h"
#include "checkpoints/owner.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

struct SaverOptions {
  std::string root;             ///< the run's checkpoints/ folder
  int keep_last = 3;            ///< committed checkpoints that stay, not counting damaged ones
  std::int64_t keep_every = 0;  ///< and those whose step is a multiple of it; 0: none
  /// Step of a committed checkpoint that this job has found whole, if any: it is not read again before older ones go.
  std::optional<std::int64_t> verified = {};
  int writers_per_node = 0;  ///< ranks of each node that write a file, for all of it; 0: every rank its own
  Owner owner{};             ///< the same name on every rank
};

/// What a rank owns of the run's tensors: pieces on the device (or the host) that snapshot() copies.
struct DevicePiece {
  StoredTensor tensor;
  Box box;
  const void* data = nullptr;  ///< device memory
};

/// Figures of one checkpoint, for the log.
struct SaveReport {
  std::int64_t step = 0;
  std::int64_t bytes = 0;    ///< of all ranks
  double stall_seconds = 0;  ///< that training stood still for the snapshot (the slowest rank)
  double write_seconds = 0;  ///< in the background, until the commit
  /// Of write_seconds: the slowest rank's file (write, fsync, hash), and agreement and commit in the end. The rest is
  /// the wait for a step boundary.
  double file_seconds = 0, commit_seconds = 0;
  std::string path;
};

/// Saves without stopping training: start() copies this rank's pieces to host memory at a step boundary and returns; a
/// thread of its own writes, hashes and fsyncs; poll() at later boundaries commits when every rank is done, by one
/// rename on rank 0, makes the checkpoint's view.h5 there (with a warning where it cannot), and prunes. All methods are
/// collective and called from the main thread; background threads alone call HDF5, one at a time. With writers_per_node
/// the ranks of a node copy into memory that they share, and a few threads write for all: training stands still as long
/// as before. A failed write on any rank throws on all ranks, names rank, path and reason, and leaves earlier
/// checkpoints as they are.
class Saver {
 public:
  /// Makes the root and removes unfinished checkpoints in it; nothing but `owner` may write there. `world` is a group
  /// of the hosts (src/comm/host_exchange.h); the pieces are copied on `stream`, in the order of the device's work.
  Saver(SaverOptions options, Communicator& world, Stream& stream);
  /// Waits for the writer. A save that is not committed stays a leftover.
  ~Saver();

  /// Takes and touches the host memory for snapshots of these pieces, so that the first start() does not. Optional.
  /// Throws as start() does.
  void prepare(std::span<const DevicePiece> pieces);
  /// Snapshot and hand over to the writer. Waits first for a save that is not committed yet (back-pressure, logged).
  void start(const RunState& state, std::span<const DevicePiece> pieces);
  /// At a step boundary: the report of a save that was committed now, or by a start() that had to wait for it.
  std::optional<SaveReport> poll();
  /// Before the run ends: waits for the writer, commits, and waits for the view and for removals (Pruner). Of several
  /// reports that poll() was not asked for, the newest; the others are logged.
  std::optional<SaveReport> finish();
  bool busy() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet::checkpoint
