#include "kernels/cuda/gemm/gemm_plans.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "kernels/cuda/host/trial_timer.h"
#include "kernels/gemm_timing.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace octet::cuda {
namespace {

template <typename Value>
void set(const CublasLt& library, cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  library.check(library.set_operation(&operation, attribute, &value, sizeof value), "an attribute of a GEMM");
}

template <typename Value>
void set(const CublasLt& library, cublasLtMatmulPreferenceOpaque_t& preference,
         cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  library.check(library.set_preference(&preference, attribute, &value, sizeof value), "a preference for a GEMM");
}

cublasLtMatrixLayoutOpaque_t layout(const CublasLt& library, const ColumnMajor& m) {
  cublasLtMatrixLayoutOpaque_t layout{};
  library.check(library.init_layout(&layout, sizeof layout, m.type, static_cast<std::uint64_t>(m.rows),
                                    static_cast<std::uint64_t>(m.columns), m.rows),
                "a matrix of a GEMM");
  return layout;
}

std::int32_t library_mode(ScaleForm form) {
  switch (form) {
    case ScaleForm::tensor:
      return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    case ScaleForm::each:
      return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case ScaleForm::vectors:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case ScaleForm::blocks:
      return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  }
  return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

/// cuBLASLt's first operand is our b (see LibraryLayouts).
void set_scales(const CublasLt& library, cublasLtMatmulDescOpaque_t& operation, const Gemm& args) {
  if (!is_float8(args.a.dtype)) return;
  set(library, operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, args.b.inverse_scale);
  set(library, operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, args.a.inverse_scale);
  const GemmProblem problem = describe(args);
  if (problem.a_scales == ScaleForm::tensor) return;  // the library's default
  set(library, operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, library_mode(problem.b_scales));
  set(library, operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, library_mode(problem.a_scales));
}

/// Of a text that parse_algorithm_choices has passed, or algorithm_text has made.
cublasLtMatmulAlgo_t algorithm_of(const std::string& plan) {
  cublasLtMatmulAlgo_t algorithm{};
  std::istringstream in(plan);
  for (std::uint64_t& word : algorithm.data) in >> std::hex >> word;
  return algorithm;
}

}  // namespace

std::string algorithm_text(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) text += fmt::format("{}{:016x}", text.empty() ? "" : " ", word);
  return text;
}

std::uint32_t reduction_schemes(DType c, bool deterministic) {
  if (deterministic || c == DType::bf16) return CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  return CUBLASLT_REDUCTION_SCHEME_MASK;
}

GemmPlans::GemmPlans(const CublasLt& library, cublasLtHandle_t handle, AlgorithmPlatform platform,
                     const CudaSettings& settings, const AlgorithmChoices& choices)
    : library_(library), handle_(handle), platform_(std::move(platform)), settings_(settings), choices_(choices) {
  if (choices_.by_problem.empty() || choices_.platform == platform_) return;
  throw internal_error("kernels", "the choices in force are of {}, this is {}", choices_.platform.text(),
                       platform_.text());
}

const GemmPlan& GemmPlans::of(const Gemm& args) {
  const GemmProblem problem = describe(args);
  if (const auto known = plans_.find(problem); known != plans_.end()) return known->second;
  GemmPlan plan = describe_to_library(args, problem);
  if (!replay(plan, problem)) {
    const auto proposals = propose(plan, problem, 1);
    plan.supported = !proposals.empty();
    if (plan.supported) {
      plan.algorithm = proposals.front();
    } else {
      log::info("[kernels] gemm {}: cuBLASLt has no such algorithm, the scales are applied apart", problem.text());
    }
  }
  return plans_.emplace(problem, plan).first->second;
}

GemmPlan GemmPlans::describe_to_library(const Gemm& args, const GemmProblem& problem) const {
  GemmPlan plan;
  library_.check(library_.init_operation(&plan.operation, sizeof plan.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "a GEMM");
  const LibraryLayouts layouts = layouts_of(problem);
  const auto operation_of = [](const ColumnMajor& m) -> std::int32_t {
    return m.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(library_, plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(layouts.first));
  set(library_, plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(layouts.second));
  if (is_float8(problem.a)) {
    set(library_, plan.operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
        static_cast<std::int8_t>(problem.fast_accumulate ? 1 : 0));
  }
  if (problem.multiprocessors != 0) {
    set(library_, plan.operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET,
        static_cast<std::int32_t>(problem.multiprocessors));
  }
  set_scales(library_, plan.operation, args);  // that there are scales may bear on what is proposed
  plan.first = layout(library_, layouts.first);
  plan.second = layout(library_, layouts.second);
  plan.result = layout(library_, layouts.result);
  return plan;
}

cublasLtMatmulPreferenceOpaque_t GemmPlans::preference(const GemmProblem& problem) const {
  cublasLtMatmulPreferenceOpaque_t p{};
  library_.check(library_.init_preference(&p, sizeof p), "preferences for a GEMM");
  set(library_, p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{gemm_workspace_bytes});
  set(library_, p, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reduction_schemes(problem.c, settings_.deterministic));
  set(library_, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(problem.b_alignment));
  set(library_, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(problem.a_alignment));
  set(library_, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(problem.c_alignment));
  set(library_, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(problem.c_alignment));
  return p;
}

std::vector<cublasLtMatmulAlgo_t> GemmPlans::propose(GemmPlan& plan, const GemmProblem& problem, int count) const {
  cublasLtMatmulPreferenceOpaque_t wanted = preference(problem);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int found = 0;
  const cublasStatus_t status = library_.heuristic(handle_, &plan.operation, &plan.first, &plan.second, &plan.result,
                                                   &plan.result, &wanted, count, results.data(), &found);
  std::vector<cublasLtMatmulAlgo_t> proposals;
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < found; ++i) {
    const auto& r = results[static_cast<std::size_t>(i)];
    if (r.state == CUBLAS_STATUS_SUCCESS && r.workspaceSize <= gemm_workspace_bytes) proposals.push_back(r.algo);
  }
  if (proposals.empty() && along_contraction(problem.a_scales)) {
    throw usage_error("kernels",
                      "cuBLASLt {} has no algorithm for gemm {} on {}: {}. Scales of vectors and blocks need a GPU of "
                      "Hopper (H100, H200); take another float8.recipe here",
                      platform_.library_version, problem.text(), platform_.device, library_.status_name(status));
  }
  if (proposals.empty() && !problem.outer_scales()) {
    throw internal_error("kernels", "cuBLASLt has no algorithm for gemm {} on {}: {}", problem.text(), platform_.device,
                         library_.status_name(status));
  }
  return proposals;
}

bool GemmPlans::replay(GemmPlan& plan, const GemmProblem& problem) const {
  const auto chosen = choices_.by_problem.find(problem.text());
  if (chosen == choices_.by_problem.end()) {
    if (!choices_.by_problem.empty() && problem.multiprocessors == 0) {
      log::info("[kernels] gemm {}: no algorithm was chosen for it, the heuristic's first proposal is used",
                problem.text());
    }
    return false;
  }
  plan.algorithm = algorithm_of(chosen->second.algorithm);
  const std::string why = obstacle(plan, problem);
  if (why.empty()) return true;
  log::shared_warning(
      "[kernels] gemm {}: the algorithm that was chosen before {}, the heuristic's first proposal is used; losses go "
      "on within rounding, not to the bit",
      problem.text(), why);
  return false;
}

std::string GemmPlans::obstacle(GemmPlan& plan, const GemmProblem& problem) const {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = library_.check_algorithm(handle_, &plan.operation, &plan.first, &plan.second,
                                                         &plan.result, &plan.result, &plan.algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS) return fmt::format("does not run here ({})", library_.status_name(status));
  if (result.workspaceSize > gemm_workspace_bytes) return "wants more workspace than there is";
  std::uint32_t scheme = 0;
  std::size_t written = 0;
  library_.check(
      library_.get_algorithm(&plan.algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof scheme, &written),
      "the reduction scheme of an algorithm");
  if ((scheme & ~reduction_schemes(problem.c, settings_.deterministic)) == 0) return "";
  const std::string why =
      fmt::format("sums over k in parts in a way that is not allowed here (reduction scheme {})", scheme);
  if (!settings_.deterministic) return why;
  throw usage_error("kernels",
                    "cuda.gemm_plans: {}: the algorithm of gemm {} {}: it may be of a run that was not deterministic",
                    settings_.gemm_plans, problem.text(), why);
}

std::optional<AlgorithmChoice> GemmPlans::time(const Gemm& args, const GemmTimer& timer) const {
  const GemmProblem problem = describe(args);
  GemmPlan plan = describe_to_library(args, problem);
  const auto proposals = propose(plan, problem, timed_proposals);
  if (proposals.empty()) return std::nullopt;
  std::vector<GemmPlan> plans(proposals.size(), plan);
  for (std::size_t i = 0; i < plans.size(); ++i) plans[i].algorithm = proposals[i];
  const std::vector<double> times = timer(plans);
  const std::size_t best = worth_taking(times);
  if (std::isinf(times[best])) {
    throw internal_error("kernels", "none of {} algorithms ran for gemm {}", times.size(), problem.text());
  }
  log::info("[kernels] gemm {}: proposal {} of {}, {:.1f} us (the heuristic's first {:.1f} us)", problem.text(),
            best + 1, times.size(), times[best], times.front());
  return AlgorithmChoice{algorithm_text(proposals[best]), times[best]};
}

cublasStatus_t run(const CublasLt& library, cublasLtHandle_t handle, const GemmPlan& plan, const Gemm& args,
                   cudaStream_t stream) {
  GemmPlan p = plan;  // the library takes pointers to what it does not change
  set_scales(library, p.operation, args);
  const float alpha = 1.0f;
  return library.matmul(handle, &p.operation, &alpha, args.b.data, &p.first, args.a.data, &p.second, &args.beta, args.c,
                        &p.result, args.c, &p.result, &p.algorithm, args.workspace,
                        static_cast<std::size_t>(std::min(args.workspace_bytes, gemm_workspace_bytes)), stream);
}

}  // namespace octet::cuda
