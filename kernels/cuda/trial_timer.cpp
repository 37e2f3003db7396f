#include "kernels/cuda/trial_timer.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cuda/launch.h"
#include "kernels/gemm_timing.h"
#include "src/base/handle.h"

namespace octet::cuda {
namespace {

constexpr double worthwhile = 0.98;  ///< of the first one's time

using TimingEvent = Handle<ClosedBy<cudaEvent_t, cudaEventDestroy>>;

}  // namespace

double least_microseconds(Stream& stream, const std::function<bool()>& run) {
  constexpr std::size_t runs = timed_runs;
  constexpr double never = std::numeric_limits<double>::infinity();
  const auto refused = [] {
    cudaGetLastError();  // or the next launch would report it
    return never;
  };
  for (int i = 0; i < uncounted_runs; ++i) {
    if (!run()) return refused();
  }
  std::array<TimingEvent, runs + 1> events;
  for (TimingEvent& e : events) check(cudaEventCreate(e.out()), "creating an event");
  check(cudaEventRecord(events[0].get(), native(stream)), "recording an event");
  for (std::size_t i = 1; i <= runs; ++i) {
    if (!run()) return refused();
    check(cudaEventRecord(events[i].get(), native(stream)), "recording an event");
  }
  check(cudaEventSynchronize(events[runs].get()), "timed runs");
  double least = never;
  for (std::size_t i = 1; i <= runs; ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events[i - 1].get(), events[i].get()), "reading a time");
    least = std::min(least, 1e3 * static_cast<double>(milliseconds));
  }
  return least;
}

std::size_t worth_taking(std::span<const double> times) {
  const auto fastest = std::ranges::min_element(times);
  return *fastest < worthwhile * times.front() ? static_cast<std::size_t>(fastest - times.begin()) : 0;
}

}  // namespace octet::cuda
