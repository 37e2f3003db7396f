#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <string>

#include "checkpoints/owner.h"

namespace octet::checkpoint {

/// What is known of checkpoints by their steps: whole or not.
using Judgement = std::map<std::int64_t, bool>;

struct PruneRule {
  std::string root;
  int keep_last = 3;
  std::int64_t keep_every = 0;  ///< 0: none
  Owner owner{};
};

/// Removes what steps_to_prune names after the commit of step `committed`. An older one counts as whole when its
/// manifest fits its own hash and every file is there with its size; and, once a job, has its hash: `known` says of
/// which that is so already, and learns of the others. A damaged one is logged and stays until `keep_last` whole ones
/// are newer. With `stop` reading ends and nothing is removed, which the log says. Failures are logged, not thrown.
/// Calls no HDF5; any thread.
void prune(const PruneRule& rule, std::int64_t committed, Judgement& known, const std::atomic<bool>& stop);

/// Does so on a thread of its own, since large files take long to read and to remove. One rank only, main thread.
class Pruner {
 public:
  /// `known`: what this job has verified already.
  Pruner(PruneRule rule, Judgement known) : rule_(std::move(rule)), known_(std::move(known)) {}
  /// Ends the reading, and waits for removals that have begun.
  ~Pruner();

  /// Removes what is old now, unless the last removal is still under way: then the next call does.
  void committed(std::int64_t step);
  /// Waits for removals, half a minute at most for the reading before them: a run that ends has no more time.
  void finish();

 private:
  void start();
  void collect();
  bool is_running() const;

  PruneRule rule_;
  Judgement known_;
  std::int64_t newest_ = -1;        ///< committed
  std::int64_t done_ = -1;          ///< of `newest_`, for the last prune()
  std::atomic<bool> stop_ = false;  ///< outlives the thread
  std::future<Judgement> running_;
};

}  // namespace octet::checkpoint
