#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "checkpoints/save/save_interval.h"

namespace octet {

/// The times at which the states were taken of the last committed checkpoint and of those under way.
class SaveTimes {
 public:
  /// A run that begins behind step `step`: its first checkpoint's age counts from now.
  explicit SaveTimes(std::int64_t step) : committed_{step, Clock::now()} {}

  void begun(std::int64_t step) { under_way_[step] = Clock::now(); }
  void committed(std::int64_t step);
  /// The one that began first has failed: how old the last committed one was when it began. Its step is `step` where
  /// none had begun.
  checkpoint::Age failed(std::int64_t step);

  /// The age of the last committed checkpoint, after step `step`.
  checkpoint::Age age(std::int64_t step) const { return age(step, Clock::now()); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Taken {
    std::int64_t step;
    Clock::time_point at;
  };

  checkpoint::Age age(std::int64_t step, Clock::time_point at) const {
    return {step - committed_.step, std::chrono::duration<double>(at - committed_.at).count()};
  }

  Taken committed_;
  std::map<std::int64_t, Clock::time_point> under_way_;
};

}  // namespace octet
