#include "kernels/cuda/trial_timer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cuda/launch.h"
#include "kernels/gemm_timing.h"
#include "src/base/handle.h"

namespace octet::cuda {
namespace {

/// Of the first one's time. Slices of the same way differ by about 1 %.
constexpr double worthwhile = 0.985;
/// Of the least time: what is slower in turns has no slice, and what is slower in its first slice no second one.
constexpr double near_in_turns = 1.06, near_under_load = 1.03;
/// Of a slice, in which the clock comes to where it stays.
constexpr double uncounted_share = 0.4;
/// However short a run is: the host takes microseconds to launch one.
constexpr double most_runs = 10000;

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

/// Some runs between two events.
class TimedRuns {
 public:
  void record(Stream& stream, const Trial& trial, int times) {
    for (TimingEvent* event : {&begin_, &end_}) check(cudaEventCreate(event->out()), "creating an event");
    check(cudaEventRecord(begin_.get(), native(stream)), "recording an event");
    times_ = runs(trial, times) ? times : 0;
    check(cudaEventRecord(end_.get(), native(stream)), "recording an event");
  }
  /// Of one, after the stream has been waited for.
  double microseconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "reading a time");
    return times_ == 0 ? never : 1e3 * static_cast<double>(milliseconds) / times_;
  }

 private:
  TimingEvent begin_, end_;
  int times_ = 0;
};

/// The least of timed_runs after uncounted_runs, since what disturbs a run makes it longer.
std::vector<double> in_turns(Stream& stream, std::span<const Trial> trials) {
  std::vector<double> least(trials.size(), never);
  std::vector<std::size_t> running;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    if (runs(trials[t], uncounted_runs)) running.push_back(t);
  }
  for (int round = 0; round < timed_runs; ++round) {
    std::vector<TimedRuns> timed(trials.size());
    for (const std::size_t t : running) timed[t].record(stream, trials[t], 1);
    stream.synchronize();
    std::erase_if(running, [&](std::size_t t) {
      const double microseconds = timed[t].microseconds();
      least[t] = microseconds == never ? never : std::min(least[t], microseconds);
      return microseconds == never;
    });
  }
  return least;
}

double slice_microseconds(Stream& stream, const Trial& trial, double expected) {
  const int all = static_cast<int>(std::clamp(1e6 * load_seconds / expected, 2.0, most_runs));
  const int uncounted = std::max(1, static_cast<int>(uncounted_share * all));
  if (!runs(trial, uncounted)) return never;
  TimedRuns timed;
  timed.record(stream, trial, all - uncounted);
  stream.synchronize();
  return timed.microseconds();
}

/// The library's first, which others must beat, and the fastest of those that are near the least; at most
/// timed_under_load.
std::vector<std::size_t> nearly_the_fastest(std::span<const double> turns) {
  std::vector<std::size_t> order(turns.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t t) { return turns[t]; });
  const double limit = near_in_turns * turns[order.front()];
  std::vector<std::size_t> near;
  if (turns.front() < never) near.push_back(0);
  for (const std::size_t t : order) {
    if (t != 0 && turns[t] < limit && near.size() < timed_under_load) near.push_back(t);
  }
  return near;
}

}  // namespace

std::vector<double> under_load(std::span<const double> turns, const std::function<double(std::size_t)>& slice) {
  std::vector<double> times(turns.size(), never);
  std::vector<std::size_t> near = nearly_the_fastest(turns);
  if (near.size() == 1) times[near.front()] = turns[near.front()];  // nothing to choose
  if (near.size() < 2) return times;
  for (const std::size_t t : near) times[t] = slice(t);
  const double limit = near_under_load * std::ranges::min(times);
  std::ranges::reverse(near);
  for (const std::size_t t : near) {
    if (times[t] < limit) times[t] = 0.5 * (times[t] + slice(t));
  }
  return times;
}

std::vector<double> trial_microseconds(Stream& stream, std::span<const Trial> trials) {
  const std::vector<double> turns = in_turns(stream, trials);
  return under_load(turns, [&](std::size_t t) { return slice_microseconds(stream, trials[t], turns[t]); });
}

std::size_t worth_taking(std::span<const double> times) {
  const auto fastest = std::ranges::min_element(times);
  return *fastest < worthwhile * times.front() ? static_cast<std::size_t>(fastest - times.begin()) : 0;
}

}  // namespace octet::cuda
