#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace octet {

/// How long a thread has waited, by its own looks at the clock. A time in which it could not look, as where the whole
/// process was stopped (`scontrol suspend`, Ctrl-Z), counts for no more than `most`: nothing could go on meanwhile.
class WaitedTime {
 public:
  using Clock = std::chrono::steady_clock;

  Clock::duration look(Clock::duration most) const {
    const Clock::time_point now = Clock::now();
    waited_ += std::min(now - std::exchange(before_, now), most);
    return waited_;
  }
  void begin_anew() { *this = {}; }

 private:
  mutable Clock::time_point before_ = Clock::now();
  mutable Clock::duration waited_{};
};

}  // namespace octet
