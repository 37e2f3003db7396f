#include "tests/benchmark/gpu/changed_library.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/gemm/gemm_problem.h"

namespace octet::bench {
namespace {

cuda::CublasLt real_library;
LibraryChange change;

bool is_alignment(cublasLtMatmulPreferenceAttributes_t attribute) {
  return attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES ||
         attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES ||
         attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES ||
         attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES;
}

cublasStatus_t set_preference(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                              const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    if (change.workspace == nullptr) return real_library.set_preference(preference, attribute, value, bytes);
    return real_library.set_preference(preference, attribute, &change.workspace_bytes, sizeof change.workspace_bytes);
  }
  if (change.workspace_alone) return CUBLAS_STATUS_SUCCESS;
  if (!is_alignment(attribute) || change.least_alignment == 0) {
    return real_library.set_preference(preference, attribute, value, bytes);
  }
  std::uint32_t alignment = 0;
  std::memcpy(&alignment, value, sizeof alignment);
  alignment = std::min(alignment, change.least_alignment);
  return real_library.set_preference(preference, attribute, &alignment, sizeof alignment);
}

cublasStatus_t heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t first,
                         cublasLtMatrixLayout_t second, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                         cublasLtMatmulPreference_t preference, int count, cublasLtMatmulHeuristicResult_t* results,
                         int* found) {
  const cublasStatus_t status =
      real_library.heuristic(handle, operation, first, second, c, d, preference, count, results, found);
  // GemmPlans would leave out what wants more than its own workspace.
  if (status != CUBLAS_STATUS_SUCCESS || change.workspace == nullptr) return status;
  constexpr auto own = static_cast<std::size_t>(cuda::gemm_workspace_bytes);
  for (int i = 0; i < *found; ++i) results[i].workspaceSize = std::min(results[i].workspaceSize, own);
  return status;
}

cublasStatus_t get_algorithm(const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
                             void* value, std::size_t bytes, std::size_t* written) {
  const cublasStatus_t status = real_library.get_algorithm(algorithm, attribute, value, bytes, written);
  // GemmPlans would leave out what sums in parts that its own preference does not allow.
  if (status == CUBLAS_STATUS_SUCCESS && change.workspace_alone) std::memset(value, 0, bytes);
  return status;
}

cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t first, const void* b, cublasLtMatrixLayout_t second, const void* beta,
                      const void* c_data, cublasLtMatrixLayout_t c, void* d_data, cublasLtMatrixLayout_t d,
                      const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                      cudaStream_t stream) {
  if (change.other_c) c_data = change.c;
  if (change.workspace != nullptr) {
    workspace = change.workspace;
    workspace_bytes = change.workspace_bytes;
  }
  return real_library.matmul(handle, operation, alpha, a, first, b, second, beta, c_data, c, d_data, d, algorithm,
                             workspace, workspace_bytes, stream);
}

}  // namespace

cuda::CublasLt changed(const cuda::CublasLt& library) {
  real_library = library;
  cuda::CublasLt t = library;
  t.set_preference = set_preference;
  t.heuristic = heuristic;
  t.get_algorithm = get_algorithm;
  t.matmul = matmul;
  return t;
}

void put_in_force(const LibraryChange& other) {
  change = other;
}

}  // namespace octet::bench
