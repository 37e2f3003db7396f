#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/algorithm_choices.h"
#include "kernels/cuda/gemm/gemm_problem.h"
#include "kernels/cuda/host/cublas_lt.h"
#include "kernels/cuda_settings.h"

namespace octet::cuda {

/// Everything that a launch hands to the library but pointers. A plain value.
struct GemmPlan {
  cublasLtMatmulDescOpaque_t operation{};
  cublasLtMatrixLayoutOpaque_t first{}, second{}, result{};
  cublasLtMatmulAlgo_t algorithm{};
  bool supported = true;  ///< false: the library has no algorithm with outer-vector scales
};

/// Microseconds of each plan, infinite for one that does not run.
using GemmTimer = std::function<std::vector<double>(std::span<const GemmPlan>)>;

/// The plans met so far, by problem. A plan comes from the choices in force, else from cuBLASLt's heuristic. Not
/// thread-safe.
class GemmPlans {
 public:
  /// Choices of another platform are an internal error: their bytes mean something else here.
  GemmPlans(const CublasLt& library, cublasLtHandle_t handle, AlgorithmPlatform platform, const CudaSettings& settings,
            const AlgorithmChoices& choices);

  /// The plan of these arguments, which check_gemm has passed; valid as long as this object. A choice that does not run
  /// here is a warning, and the heuristic's first proposal takes its place. One that sums in an order of chance is a
  /// usage error in a run that is to be deterministic.
  const GemmPlan& of(const Gemm& args);

  /// The fastest of the library's proposals for these arguments, whatever is in force; nothing where it has none.
  std::optional<AlgorithmChoice> time(const Gemm& args, const GemmTimer& timer) const;

 private:
  GemmPlan describe_to_library(const Gemm& args, const GemmProblem& problem) const;
  cublasLtMatmulPreferenceOpaque_t preference(const GemmProblem& problem) const;
  std::vector<cublasLtMatmulAlgo_t> propose(GemmPlan& plan, const GemmProblem& problem, int count) const;
  bool replay(GemmPlan& plan, const GemmProblem& problem) const;
  std::string obstacle(GemmPlan& plan, const GemmProblem& problem) const;

  CublasLt library_;
  cublasLtHandle_t handle_;
  AlgorithmPlatform platform_;
  CudaSettings settings_;
  AlgorithmChoices choices_;
  std::map<GemmProblem, GemmPlan> plans_;
};

/// D = alpha · first · second + beta · D on the stream, with the inverse scales of `args`. Host work only in the
/// launch: nothing is allocated or waited for.
cublasStatus_t run(const CublasLt& library, cublasLtHandle_t handle, const GemmPlan& plan, const Gemm& args,
                   cudaStream_t stream);

/// The words of an algorithm, as AlgorithmChoice has them.
std::string algorithm_text(const cublasLtMatmulAlgo_t& algorithm);

/// How sums may be split over k: never in C's own dtype when that is bf16 (our accumulation is fp32), and when
/// deterministic only through the workspace, whose parts are added in a fixed order.
std::uint32_t reduction_schemes(DType c, bool deterministic);

}  // namespace octet::cuda
