#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/wait_meter.h"

namespace octet {

/// What a rank has to say of some steps.
struct RankPace {
  std::string node;
  double step_seconds = 0;  ///< of all these steps, with what lies between them
  double wait_seconds = 0;  ///< of them in collectives (WaitMeter)
  std::string place{};      ///< what the rank is in its pipeline, to be said behind the node; empty without one
};

/// A rank that holds the others up.
struct SlowRank {
  int rank = 0;
  double factor = 1;  ///< its steps over what they would take if it waited as long as the others do
};

/// Ranks that wait for the others so much less than the median rank does that steps take at least `factor` times as
/// long as they would otherwise: where a step takes S seconds, of which this rank waits w and the median rank m, the
/// factor is S / (S - (m - w)). All ranks have steps of the same length, since collectives keep them together; a slow
/// rank is one that hardly waits.
std::vector<SlowRank> find_slow_ranks(const std::vector<RankPace>& ranks, double factor);

/// What the log says of them: of each of the first 8 nodes the slowest rank, and how many more. `ranks` as above, whose
/// seconds are of so many steps.
std::string describe_slow_ranks(const std::vector<SlowRank>& slow, const std::vector<RankPace>& ranks,
                                std::int64_t steps);

/// Compares the ranks' pace every so many steps and tells the log, on rank 0, when the slow ones are others than
/// before.
class SlowRankWatch {
 public:
  /// `every` 0: never. Both are train.slow_rank_every and train.slow_rank_factor. `meter` may be null: never.
  SlowRankWatch(std::int64_t every, double factor, WaitMeter* meter, Communicator& control, std::string node,
                std::string place = "");

  /// To be called after each step, in order. Collective over `control` where steps are compared.
  void step(std::int64_t step);

 private:
  void compare(std::int64_t step);

  std::int64_t every_;
  double factor_;
  WaitMeter* meter_;
  Communicator& control_;
  RankPace mine_;
  std::int64_t first_ = 0;  ///< of the steps that are compared next
  std::chrono::steady_clock::time_point since_;
  std::vector<int> slow_{};  ///< those that the log was told last
};

}  // namespace octet
