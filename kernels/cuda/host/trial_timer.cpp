#include "kernels/cuda/host/trial_timer.h"

#include <algorithm>
#include <limits>

#include "kernels/cuda/host/launch.h"
#include "kernels/gemm_timing.h"
#include "src/base/handle.h"

namespace octet::cuda {
namespace {

constexpr double worthwhile = 0.98;  ///< of the first one's time

constexpr double never = std::numeric_limits<double>::infinity();

using TimingEvent = Handle<ClosedBy<cudaEvent_t, cudaEventDestroy>>;

bool runs(const Trial& trial, int times) {
  for (int i = 0; i < times; ++i) {
    if (trial()) continue;
    cudaGetLastError();  // or the next launch would report it
    return false;
  }
  return true;
}

/// One run between two events.
class TimedRun {
 public:
  void record(Stream& stream, const Trial& trial) {
    for (TimingEvent* event : {&begin_, &end_}) check(cudaEventCreate(event->out()), "creating an event");
    check(cudaEventRecord(begin_.get(), native(stream)), "recording an event");
    ran_ = runs(trial, 1);
    check(cudaEventRecord(end_.get(), native(stream)), "recording an event");
  }
  /// After the stream has been waited for.
  double microseconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "reading a time");
    return ran_ ? 1e3 * static_cast<double>(milliseconds) : never;
  }

 private:
  TimingEvent begin_, end_;
  bool ran_ = false;
};

}  // namespace

std::vector<double> least_microseconds(Stream& stream, std::span<const Trial> trials) {
  std::vector<double> least(trials.size(), never);
  std::vector<std::size_t> running;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    if (runs(trials[t], uncounted_runs)) running.push_back(t);
  }
  for (int round = 0; round < timed_runs; ++round) {
    std::vector<TimedRun> timed(trials.size());
    for (const std::size_t t : running) timed[t].record(stream, trials[t]);
    stream.synchronize();
    std::erase_if(running, [&](std::size_t t) {
      const double microseconds = timed[t].microseconds();
      least[t] = microseconds == never ? never : std::min(least[t], microseconds);
      return microseconds == never;
    });
  }
  return least;
}

std::size_t worth_taking(std::span<const double> times) {
  const auto fastest = std::ranges::min_element(times);
  return *fastest < worthwhile * times.front() ? static_cast<std::size_t>(fastest - times.begin()) : 0;
}

}  // namespace octet::cuda
