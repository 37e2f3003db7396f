#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/cublas_lt.h"
#include "kernels/cuda/gemm_plan_file.h"
#include "kernels/cuda/gemm_problem.h"
#include "kernels/cuda_settings.h"

namespace octet::cuda {

/// Everything that a launch hands to the library but pointers. A plain value.
struct GemmPlan {
  cublasLtMatmulDescOpaque_t operation{};
  cublasLtMatrixLayoutOpaque_t first{}, second{}, result{};
  cublasLtMatmulAlgo_t algorithm{};
  bool supported = true;  ///< false: the library has no algorithm with outer-vector scales
};

/// Microseconds of each plan, infinite for one that does not run; empty when nothing can be timed now.
using GemmTimer = std::function<std::vector<double>(std::span<const GemmPlan>)>;

/// The plans met so far, by problem. A plan comes from the settings' file, else from cuBLASLt's heuristic, or from a
/// timing among its proposals, which is logged and added to the file. Not thread-safe.
class GemmPlans {
 public:
  /// Usage error when the settings' file is of another GPU or library.
  GemmPlans(const CublasLt& library, cublasLtHandle_t handle, std::string device, const CudaSettings& settings);

  /// The plan of these arguments, which check_gemm has passed; valid as long as this object.
  const GemmPlan& of(const Gemm& args, const GemmTimer& timer);

 private:
  GemmPlan describe_to_library(const Gemm& args, const GemmProblem& problem) const;
  cublasLtMatmulPreferenceOpaque_t preference(const GemmProblem& problem) const;
  std::vector<cublasLtMatmulAlgo_t> propose(GemmPlan& plan, const GemmProblem& problem, int count) const;
  void check_replayed(GemmPlan& plan, const GemmProblem& problem) const;
  cublasLtMatmulAlgo_t choose_timed(const GemmPlan& plan, const GemmProblem& problem,
                                    std::span<const cublasLtMatmulAlgo_t> proposals, const GemmTimer& timer);

  CublasLt library_;
  cublasLtHandle_t handle_;
  CudaSettings settings_;
  GemmChoices choices_;
  std::map<GemmProblem, GemmPlan> plans_;
};

/// D = alpha · first · second + beta · D on the stream, with the inverse scales of `args`. Host work only in the
/// launch: nothing is allocated or waited for.
cublasStatus_t run(const CublasLt& library, cublasLtHandle_t handle, const GemmPlan& plan, const Gemm& args,
                   cudaStream_t stream);

/// How sums may be split over k: never in C's own dtype when that is bf16 (our accumulation is fp32), and when
/// deterministic only through the workspace, whose parts are added in a fixed order.
std::uint32_t reduction_schemes(DType c, bool deterministic);

}  // namespace octet::cuda
