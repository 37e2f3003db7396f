#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "checkpoints/format/format.h"
#include "checkpoints/format/owner.h"
#include "checkpoints/restore/verification.h"
#include "checkpoints/save/background_view.h"
#include "checkpoints/save/save_report.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

struct SaverOptions {
  std::string root;             ///< the run's checkpoints/ folder
  int keep_last = 3;            ///< committed checkpoints that stay, not counting damaged ones
  std::int64_t keep_every = 0;  ///< and those whose step is a multiple of it; 0: none
  Verdicts known = {};          ///< of a start (Found): what this run has read is not read again before older ones go
  std::int64_t restored = -1;   ///< the step that the run goes on from, which `known` has as whole; -1: none
  int writers_per_node = 0;     ///< ranks of each node that write a file, for all of it; 0: every rank its own
  Owner owner{};                ///< the same name on every rank
  std::int64_t most_viewed_pieces = checkpoint::most_viewed_pieces;  ///< of a checkpoint that gets a view.h5
};

/// Saves without stopping training: start() copies this rank's pieces to host memory at a step boundary and returns; a
/// thread of its own writes, hashes and fsyncs; poll() at later boundaries agrees when every rank is done, then a
/// thread of rank 0 makes the manifest, which can have millions of pieces, and a later poll() commits by one rename on
/// rank 0, has the checkpoint's view.h5 made (BackgroundView), and prunes. All methods are
/// collective and called from the main thread; background threads alone call HDF5, one at a time. With writers_per_node
/// the ranks of a node copy into memory that they share, and a few threads write for all: training stands still as long
/// as before. A failed write on any rank throws on all ranks, names rank, path and reason, and leaves earlier
/// checkpoints as they are.
class Saver {
 public:
  /// Makes the root, removes unfinished checkpoints in it, and begins to remove those that `restored` makes surplus;
  /// nothing but `owner` may write there. Where a rank that writes cannot make a file there, all ranks throw: a usage
  /// error, but for a file system that is read-only. Collective over `control` (src/comm/control_exchange.h); the
  /// pieces are copied on `stream`, in the order of the device's work.
  Saver(SaverOptions options, Communicator& control, Stream& stream);
  /// Waits for the writer and for the view. A save that is not committed stays a leftover.
  ~Saver();

  /// Takes and touches the host memory for snapshots of these pieces, so that the first start() does not. Optional.
  /// Where the disk lacks room, it waits until surplus checkpoints are gone, but for no more than PruneRule::patience
  /// while those that stay are read. Throws as start() does.
  void prepare(std::span<const DevicePiece> pieces);
  /// Snapshot and hand over to the writer. The save before has ended by then, by wait() or poll(): internal error where
  /// it is still busy(). `last`: of a run, which may take the space_reserve. Where the disk lacks room, surplus
  /// checkpoints that have not gone yet go first, as in prepare().
  void start(const RunState& state, std::span<const DevicePiece> pieces, bool last = false);
  /// To be called at a step boundary. Returns the report of a save that was committed now, or by wait().
  std::optional<SaveReport> poll();
  /// Waits for a save that is not committed yet and commits it; poll() has the report.
  void wait();
  /// To be called before the run ends. Waits for the writer, commits, and waits for removals (Pruner); not for the
  /// view, so that how the run ended can be written down first. Of several reports that poll() was not asked for,
  /// returns the newest; the others are logged.
  std::optional<SaveReport> finish();
  bool busy() const;
  /// Waits, on every rank, for the view of the last committed checkpoint, and says so where it takes long.
  void wait_for_view() const;
  /// The host memory that stays with this rank after a save: its snapshot, and its lists of pieces; on rank 0 the plan
  /// too, with the pieces of all ranks.
  std::int64_t host_bytes() const;
  /// The bytes of old checkpoints that this rank has read to know that they are whole.
  std::int64_t bytes_read() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet::checkpoint
