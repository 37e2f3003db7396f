#include "src/train/step/step_clock.h"

#include <numeric>
#include <utility>

#include "src/base/error.h"
#include "src/comm/operation.h"

namespace octet {

Spent& Spent::operator+=(const Spent& other) {
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] += other.seconds[i];
  return *this;
}

double Spent::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

std::int64_t StepClock::mark(Activity activity) {
  if (idle_.empty()) idle_.push_back(stream_.device().make_timing_event());
  stream_.record(*idle_.back());
  marks_.push_back({std::move(idle_.back()), activity});
  idle_.pop_back();
  return first_ + static_cast<std::int64_t>(marks_.size()) - 1;
}

Spent StepClock::take(std::int64_t mark) {
  const std::int64_t last = first_ + static_cast<std::int64_t>(marks_.size()) - 1;
  if (mark < first_ || mark > last) {
    throw internal_error("train", "time was asked up to mark {}, expected one of {} to {}", mark, first_, last);
  }
  const Event& end = *marks_[static_cast<std::size_t>(mark - first_)].at;
  if (!end.complete()) {
    const OperationScope operation("wait for the device");
    await(end, operation);
  }
  Spent spent;
  for (; first_ < mark; ++first_) {
    spent[marks_[0].activity] += marks_[1].at->seconds_since(*marks_[0].at);
    idle_.push_back(std::move(marks_[0].at));
    marks_.pop_front();
  }
  return spent;
}

Spent StepClock::take() {
  return marks_.empty() ? Spent{} : take(first_ + static_cast<std::int64_t>(marks_.size()) - 1);
}

}  // namespace octet
