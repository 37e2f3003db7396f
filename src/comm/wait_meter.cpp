#include "src/comm/wait_meter.h"

#include <utility>

namespace octet {

void WaitMeter::begin(Stream& stream) {
  if (depth_++ > 0) return;
  if (stream.device().type() == DeviceType::cpu) {
    since_ = Clock::now();
    return;
  }
  retire();
  if (idle_.empty()) idle_.push_back({stream.device().make_timing_event(), stream.device().make_timing_event()});
  open_ = std::move(idle_.back());
  idle_.pop_back();
  stream.record(*open_.begin);
}

void WaitMeter::end(Stream& stream) {
  if (--depth_ > 0) return;
  if (stream.device().type() == DeviceType::cpu) {
    seconds_ += std::chrono::duration<double>(Clock::now() - since_).count();
    return;
  }
  stream.record(*open_.end);
  pending_.push_back(std::move(open_));
}

double WaitMeter::take() {
  retire();
  return std::exchange(seconds_, 0.0);
}

/// Takes the finished waits in the order in which they were issued: one that is over early, on another stream, is taken
/// after those before it.
void WaitMeter::retire() {
  while (!pending_.empty() && pending_.front().end->complete()) {
    seconds_ += pending_.front().end->seconds_since(*pending_.front().begin);
    idle_.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
}

}  // namespace octet
