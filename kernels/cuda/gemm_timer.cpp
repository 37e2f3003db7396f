#include "kernels/cuda/gemm_timer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/launch.h"
#include "src/base/handle.h"
#include "src/device/buffer.h"

namespace octet::cuda {
namespace {

/// The least of these counts: what disturbs a run makes it longer.
constexpr std::size_t runs = 5;

struct EventTraits {
  using type = cudaEvent_t;
  static type null() { return nullptr; }
  static void close(type e) noexcept { cudaEventDestroy(e); }
};
using TimingEvent = Handle<EventTraits>;

std::optional<Buffer> scratch_of(Stream& stream, std::int64_t bytes) {
  try {
    return Buffer(stream.device(), bytes, Purpose::workspace);
  } catch (const Error&) {
    cudaGetLastError();  // or the next launch would report it
    return std::nullopt;
  }
}

/// Microseconds of one run; infinite when the library refuses it.
double time_one(const CublasLt& library, cublasLtHandle_t handle, cudaStream_t stream, const Gemm& args,
                const GemmPlan& plan) {
  if (run(library, handle, plan, args, stream) != CUBLAS_STATUS_SUCCESS) {  // also loads the kernel
    cudaGetLastError();
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

std::vector<double> time_gemms(const CublasLt& library, cublasLtHandle_t handle, Stream& stream, const Gemm& args,
                               std::span<const GemmPlan> plans) {
  if (is_capturing(stream)) return {};
  Gemm trial = args;
  std::optional<Buffer> scratch;
  if (args.beta != 0.0f) {
    const std::int64_t bytes = args.m * args.n * size_of(args.c_dtype);
    scratch = scratch_of(stream, bytes);
    if (!scratch) return {};
    stream.device().copy(scratch->data(), args.c, bytes, stream);
    trial.c = scratch->data();
  }
  std::vector<double> times;
  for (const GemmPlan& plan : plans) times.push_back(time_one(library, handle, native(stream), trial, plan));
  return times;
}

}  // namespace octet::cuda
