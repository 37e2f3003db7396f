#include "kernels/cuda/gemm_timer.h"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/trial_timer.h"

namespace octet::cuda {

std::vector<double> time_plans(const CublasLt& library, cublasLtHandle_t handle, Stream& stream, const Gemm& args,
                               std::span<const GemmPlan> plans) {
  std::vector<double> times;
  for (const GemmPlan& plan : plans) {
    times.push_back(least_microseconds(
        stream, [&] { return run(library, handle, plan, args, native(stream)) == CUBLAS_STATUS_SUCCESS; }));
  }
  return times;
}

}  // namespace octet::cuda
