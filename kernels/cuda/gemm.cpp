#include "kernels/gemm.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm_plans.h"
#include "kernels/cuda/gemm_scales.h"
#include "kernels/cuda/gemm_timer.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/settings.h"

namespace octet::cuda {
namespace {

/// Rows [row, row + rows) of C. An fp8 a is stored [m, k].
Gemm rows_of(Gemm args, std::int64_t row, std::int64_t rows) {
  args.a.data = static_cast<const std::byte*>(args.a.data) + row * args.k;
  if (args.a.scales == ScaleForm::each) args.a.inverse_scale += row;
  args.c = static_cast<std::byte*>(args.c) + row * args.n * size_of(args.c_dtype);
  args.m = rows;
  return args;
}

/// The same product without scales, which the library takes for 1, into fp32 sums.
Gemm sums_of(Gemm args, float* sums) {
  args.a.inverse_scale = args.b.inverse_scale = nullptr;
  args.a.scales = args.b.scales = ScaleForm::tensor;
  args.c = sums;
  args.c_dtype = DType::f32;
  args.beta = 0.0f;
  args.workspace_bytes = gemm_workspace_bytes;
  return args;
}

/// The library with its handle, once a process (which uses one device), and the plans under the present settings.
/// The first GEMM loads it, so it cannot be the first thing that a graph captures: that is refused.
class Library {
 public:
  explicit Library(Stream& stream) : functions_(load_cublas_lt()), device_(stream.device().name()) {
    refuse_capture(stream, "loading cuBLASLt");
    functions_.check(functions_.create(&handle_), "creating a handle");
  }

  void gemm(Stream& stream, const Gemm& args) {
    if (has_outer_scales(args) && !(describe(args).outer_scales() && plan_of(stream, args).supported)) {
      return gemm_and_scale(stream, args);
    }
    const GemmPlan plan = plan_of(stream, args);
    functions_.check(run(functions_, handle_, plan, args, native(stream)), "launching a GEMM");
  }

 private:
  /// Unit scales and fp32 sums, some rows of C at a time, which are then scaled.
  void gemm_and_scale(Stream& stream, const Gemm& args) {
    auto* sums = reinterpret_cast<float*>(static_cast<std::byte*>(args.workspace) + gemm_workspace_bytes);
    const std::int64_t step = rows_of_sums(args);
    for (std::int64_t row = 0; row < args.m; row += step) {
      const Gemm part = rows_of(args, row, std::min(step, args.m - row));
      gemm(stream, sums_of(part, sums));
      scale_sums(stream, part, sums);
    }
  }

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
  return args.m == 0 || args.n == 0 || args.k == 0 ? 0 : workspace_bytes_of(args);
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
