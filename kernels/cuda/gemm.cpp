#include "kernels/gemm.h"

#include <functional>
#include <mutex>
#include <optional>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm_plans.h"
#include "kernels/cuda/gemm_timer.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/settings.h"

namespace octet::cuda {
namespace {

/// The library with its handle, once a process (which uses one device), and the plans under the present settings.
/// The first GEMM loads it, so it cannot be the first thing that a graph captures.
class Library {
 public:
  explicit Library(Stream& stream) : functions_(load_cublas_lt()), device_(stream.device().name()) {
    functions_.check(functions_.create(&handle_), "creating a handle");
  }

  void gemm(Stream& stream, const Gemm& args) {
    const GemmPlan plan = plan_of(stream, args);
    functions_.check(run(functions_, handle_, plan, args, native(stream)), "launching a GEMM");
  }

 private:
  GemmPlan plan_of(Stream& stream, const Gemm& args) {
    const std::scoped_lock lock(mutex_);
    if (!plans_ || version_ != settings_version()) {
      plans_.emplace(functions_, handle_, device_, settings());
      version_ = settings_version();
    }
    const auto timer = [&](std::span<const GemmPlan> plans) {
      return time_gemms(functions_, handle_, stream, args, plans);
    };
    return plans_->of(args, std::cref(timer));  // by reference: a copy would be allocated at every launch
  }

  CublasLt functions_;
  std::string device_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::optional<GemmPlans> plans_;
  int version_ = 0;
};

Library& library(Stream& stream) {
  // Never destroyed: at exit the driver may be gone before.
  static Library& instance = *new Library(stream);
  return instance;
}

}  // namespace

std::int64_t gemm_workspace(const Gemm& args) {
  return args.m == 0 || args.n == 0 || args.k == 0 ? 0 : gemm_workspace_bytes;
}

void gemm(Stream& stream, const Gemm& args) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) {  // a sum of nothing
    if (args.beta == 0.0f) stream.device().zero(args.c, args.m * args.n * size_of(args.c_dtype), stream);
    return;
  }
  check_gemm(args);
  library(stream).gemm(stream, args);
}

}  // namespace octet::cuda
