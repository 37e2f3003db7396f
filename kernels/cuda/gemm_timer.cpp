#include "kernels/cuda/gemm_timer.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cuda/launch.h"
#include "kernels/gemm_timing.h"
#include "src/base/handle.h"

namespace octet::cuda {
namespace {

struct EventTraits {
  using type = cudaEvent_t;
  static type null() { return nullptr; }
  static void close(type e) noexcept { cudaEventDestroy(e); }
};
using TimingEvent = Handle<EventTraits>;

/// Microseconds of one run: the least of several, since what disturbs a run makes it longer. Infinite when the library
/// refuses it.
double time_one(const CublasLt& library, cublasLtHandle_t handle, cudaStream_t stream, const Gemm& args,
                const GemmPlan& plan) {
  constexpr std::size_t runs = timed_runs;
  for (int i = 0; i < uncounted_runs; ++i) {
    if (run(library, handle, plan, args, stream) == CUBLAS_STATUS_SUCCESS) continue;
    cudaGetLastError();  // or the next launch would report it
    return std::numeric_limits<double>::infinity();
  }
  std::array<TimingEvent, runs + 1> events;
  for (TimingEvent& e : events) check(cudaEventCreate(e.out()), "creating an event");
  check(cudaEventRecord(events[0].get(), stream), "recording an event");
  for (std::size_t i = 1; i <= runs; ++i) {
    library.check(run(library, handle, plan, args, stream), "a timed GEMM");
    check(cudaEventRecord(events[i].get(), stream), "recording an event");
  }
  check(cudaEventSynchronize(events[runs].get()), "timed GEMMs");
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 1; i <= runs; ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events[i - 1].get(), events[i].get()), "reading a time");
    least = std::min(least, milliseconds);
  }
  return 1e3 * static_cast<double>(least);
}

}  // namespace

std::vector<double> time_plans(const CublasLt& library, cublasLtHandle_t handle, Stream& stream, const Gemm& args,
                               std::span<const GemmPlan> plans) {
  std::vector<double> times;
  for (const GemmPlan& plan : plans) times.push_back(time_one(library, handle, native(stream), args, plan));
  return times;
}

}  // namespace octet::cuda
