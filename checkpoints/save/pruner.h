#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/format/owner.h"
#include "checkpoints/restore/shared_hashing.h"
#include "checkpoints/restore/verification.h"
#include "checkpoints/save/retention.h"
#include "src/comm/communicator.h"
#include "src/comm/operation.h"

namespace octet::checkpoint {

struct PruneRule {
  std::string root;
  int keep_last = 3;
  std::int64_t keep_every = 0;  ///< 0: none
  Owner owner{};
  std::chrono::seconds patience{30};  ///< for the reading at the end of a run, which may have to make room for another
};

/// An old checkpoint of which rank 0 has to know whether it is whole.
struct Question {
  std::string directory;
  std::vector<StoredFile> files;
  Verdicts::Files seen = {};  ///< rank 0
};

/// Removes what steps_to_prune names, after a commit and after a start: a run that was killed between commit and
/// removal, or that is to keep fewer now, has more checkpoints than its disk may have room for. Works in the
/// background. An older checkpoint counts as whole when it is known to be, or when its manifest fits its own hash and
/// every file has its size and its hash: the ranks read it together, each file once, and rank 0 keeps the verdict. A
/// damaged one is logged and stays until `keep_last` whole ones are newer; one that cannot be read counts as damaged
/// for this time. Failures are logged, not thrown. Calls no HDF5. All methods are collective, and called from the main
/// thread, which only agrees with the others: a thread of rank 0 lists, reads manifests and removes, and a thread of
/// each rank reads its share of the files, slowly (ReadPace) but where make_room() or finish() waits for it.
class Pruner {
 public:
  /// `known` of rank 0: what this run has read already.
  Pruner(PruneRule rule, Verdicts known, Communicator& control);
  /// Ends the reading, and waits for removals that have begun.
  ~Pruner();

  /// A checkpoint was committed, with these files (rank 0), which were read back when they were hashed. Removes what is
  /// old now, or, when the last removal is still under way, after that.
  void committed(std::int64_t step, Verdicts::Files files);
  /// The run goes on from the checkpoint of this step, which `known` has as whole. Removes what is old beside it.
  void restored(std::int64_t step);
  /// A save lacks room: removes what has become surplus since, and waits for that. Where a checkpoint is still being
  /// read when the rule's patience is over, this returns, and the reading goes on.
  void make_room();
  /// To be called at a step boundary: goes on as far as that needs no waiting.
  void poll();
  /// Waits for all that; for the reading no longer than the rule's patience, after which what is old stays.
  void finish();

  /// The bytes that this rank has read since it was made.
  std::int64_t bytes_read() const { return progress_.bytes(); }
  /// How often it rested while it read them.
  std::int64_t rests() const { return pace_.rests(); }

 private:
  enum class State : std::uint8_t { idle, choosing, reading };
  /// What rank 0's thread comes to.
  struct Choice {
    Verdicts learned;
    std::vector<std::string> removed;  ///< directories
    std::optional<Question> question;  ///< that it must have an answer to before it can go on
  };
  static Choice choose(const PruneRule& rule, std::int64_t committed, const Verdicts& known);

  bool leads() const { return control_.rank() == 0; }
  void start_choosing();
  void end_choosing();
  void start_reading(Question question);
  void end_reading();
  /// Where this rank's own thread is what the others wait for.
  void check_deadline(const OperationScope& operation) const;

  PruneRule rule_;
  Communicator& control_;
  Verdicts known_;
  State state_ = State::idle;
  std::int64_t newest_ = -1;  ///< committed, or restored
  std::int64_t done_ = -1;    ///< of `newest_`, for the last choice
  Question question_;
  std::vector<std::string> unread_;  ///< rank 0: directories that could not be read, and count as damaged until then
  bool late_ = false;                ///< rank 0: the patience is over
  files::ReadProgress progress_;     ///< outlives the threads
  ReadPace pace_;                    ///< so does this
  std::future<Choice> choosing_;     ///< rank 0
  std::future<Findings> reading_;
};

}  // namespace octet::checkpoint
