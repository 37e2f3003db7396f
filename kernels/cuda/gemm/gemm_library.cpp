#include "kernels/cuda/gemm/gemm_library.h"

#include <algorithm>
#include <cstddef>

#include "kernels/cuda/gemm/gemm_operands.h"
#include "kernels/cuda/gemm/gemm_scales.h"
#include "kernels/cuda/host/capture.h"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/host/settings.h"
#include "kernels/cuda/host/trial_timer.h"
#include "src/base/heartbeat.h"

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

float* sums_of(const Gemm& args) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(args.workspace) + gemm_workspace_bytes);
}

/// The same product without scales, which the library takes for 1, into fp32 sums.
Gemm without_scales(Gemm args) {
  args.c = sums_of(args);
  args.a.inverse_scale = args.b.inverse_scale = nullptr;
  args.a.scales = args.b.scales = ScaleForm::tensor;
  args.c_dtype = DType::f32;
  args.beta = 0.0f;
  args.workspace_bytes = gemm_workspace_bytes;
  return args;
}

/// Calls `each` with some rows of C at a time.
template <typename F>
void for_parts(const Gemm& args, F&& each) {
  const std::int64_t step = rows_of_sums(args);
  for (std::int64_t row = 0; row < args.m; row += step) each(rows_of(args, row, std::min(step, args.m - row)));
}

}  // namespace

GemmLibrary& GemmLibrary::of(Stream& stream) {
  // Never destroyed: at exit the driver may be gone before.
  static GemmLibrary& instance = *new GemmLibrary(stream);
  return instance;
}

GemmLibrary::GemmLibrary(Stream& stream) : functions_(load_cublas_lt()), device_(stream.device().name()) {
  refuse_capture(stream, "loading cuBLASLt");
  functions_.check(functions_.create(&handle_), "creating a handle");
}

bool GemmLibrary::scales_apart(const Gemm& args) {
  return has_outer_scales(args) && !(describe(args).outer_scales() && plan_of(args).supported);
}

void GemmLibrary::multiply(Stream& stream, const Gemm& args) {
  const auto launch = [&](const Gemm& product) {
    functions_.check(run(functions_, handle_, plan_of(product), product, native(stream)), "launching a GEMM");
  };
  if (!scales_apart(args)) return launch(args);
  for_parts(args, [&](const Gemm& part) {
    launch(without_scales(part));
    scale_sums(stream, part, sums_of(part));
  });
}

std::vector<Gemm> GemmLibrary::products(const Gemm& args) {
  if (!scales_apart(args)) return {args};
  std::vector<Gemm> parts;
  for_parts(args, [&](const Gemm& part) { parts.push_back(without_scales(part)); });
  return parts;
}

AlgorithmChoices GemmLibrary::time(Stream& stream, std::span<const Gemm> products) {
  AlgorithmChoices choices{.platform = platform()};
  TrialValues values(stream);
  for (const Gemm& product : products) {
    heartbeat::begin("timing of a GEMM's algorithms");
    const TrialOperands operands(stream, product, values);
    const auto timer = [&](std::span<const GemmPlan> plans) {
      return time_plans(functions_, handle_, stream, operands.args(), plans);
    };
    const std::scoped_lock lock(mutex_);
    const auto choice = plans().time(operands.args(), timer);
    if (choice) choices.by_problem[describe(product).text()] = *choice;
  }
  stream.synchronize();
  return choices;
}

GemmPlans& GemmLibrary::plans() {
  if (!plans_ || version_ != settings_version()) {
    plans_.emplace(functions_, handle_, platform(), settings(), gemm_choices());
    version_ = settings_version();
  }
  return *plans_;
}

GemmPlan GemmLibrary::plan_of(const Gemm& args) {
  const std::scoped_lock lock(mutex_);
  return plans().of(args);
}

std::vector<double> time_plans(const CublasLt& library, cublasLtHandle_t handle, Stream& stream, const Gemm& args,
                               std::span<const GemmPlan> plans) {
  std::vector<Trial> trials;
  for (const GemmPlan& plan : plans) {
    trials.emplace_back([&] { return run(library, handle, plan, args, native(stream)) == CUBLAS_STATUS_SUCCESS; });
  }
  return least_microseconds(stream, trials);
}

}  // namespace octet::cuda
