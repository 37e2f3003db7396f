#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "checkpoints/format/format.h"
#include "checkpoints/format/owner.h"
#include "checkpoints/save/commit.h"
#include "checkpoints/save/save_plan.h"
#include "checkpoints/save/save_report.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// "step 40 cannot be saved": how the errors of a save begin.
std::string cannot_be_saved(std::int64_t step);

/// What is saved, and where.
struct SaveOrder {
  std::string root;
  Owner owner;
  RunState state;
  std::shared_ptr<const SavePlan> plan;  ///< empty but on rank 0
  double stall_seconds = 0;              ///< of this rank, for the report

  /// The folder that is filled before it is renamed.
  std::string temporary() const;
};

/// A save that is done.
struct CommittedSave {
  SaveReport report;
  Verdicts::Files files;  ///< of rank 0: they were read back when they were hashed
};

/// One save from the moment at which its pieces are in host memory. A thread of each rank writes its file; when all are
/// written rank 0 makes the manifest, on a thread too, and when that is done it commits. Main thread; the ranks agree
/// before each of these steps, so all but is_over() and step() are collective. What goes wrong with one of
/// them is thrown by all ranks; the job is then over, and rank 0 has removed its folder.
class SaveJob {
 public:
  /// Begins to write the pieces, which must stay as they are until is_over(). `hdf5`: what calls HDF5 until then, if
  /// anything does, for one thread at a time may.
  SaveJob(SaveOrder order, std::span<const PieceData> pieces, const std::shared_future<void>& hdf5,
          Communicator& control);

  std::int64_t step() const { return order_.state.step; }
  /// Committed, or failed.
  bool is_over() const { return over_; }
  /// Takes the next step if that needs no wait. Returns the save if it was committed by that.
  std::optional<CommittedSave> advance();
  /// Takes all steps. The watchdog can end a wait for storage that hangs; the job is not over then.
  CommittedSave wait();

 private:
  using Clock = std::chrono::steady_clock;
  /// What the writer's thread returns.
  struct Written {
    StoredFile file;
    double seconds = 0, read_back_seconds = 0;
  };

  static Written write_pieces(const std::shared_future<void>& hdf5, const std::string& directory, int rank,
                              const RunState& state, std::span<const PieceData> pieces);
  bool leads() const { return control_.rank() == 0; }
  bool is_written() const;
  void collect();
  CommittedSave commit_manifest();
  /// Does `work`, which throws on all ranks or on none. Where it throws the job is over.
  template <typename Work>
  void or_drop(const Work& work);
  /// Of all ranks. In units of 10 microseconds: what ranks agree on are integers.
  double longest(double seconds) const;

  SaveOrder order_;
  Communicator& control_;
  Clock::time_point write_start_ = Clock::now();
  std::future<Written> written_;
  std::optional<SaveReport> report_;  ///< once all ranks have written: what is known of it
  BackgroundManifest manifest_;       ///< rank 0
  bool over_ = false;
};

}  // namespace octet::checkpoint
