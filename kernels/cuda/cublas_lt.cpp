#include "kernels/cuda/cublas_lt.h"

#include "src/base/error.h"
#include "src/device/cuda/dynamic_library.h"

namespace octet::cuda {

void CublasLt::check(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw internal_error("kernels", "cuBLASLt: {}: {}", what, status_name(status));
}

CublasLt load_cublas_lt() {
  const DynamicLibrary library(
      fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR),
      CUBLAS_VER_MAJOR < 13 ? fmt::format("nvidia-cublas-cu{}", CUBLAS_VER_MAJOR) : "nvidia-cublas");
  CublasLt t{};
  const auto load = [&]<typename Function>(Function*& function, const char* name) {
    function = library.function<Function>(name);
  };
  load(t.create, "cublasLtCreate");
  load(t.version, "cublasLtGetVersion");
  load(t.status_name, "cublasLtGetStatusName");
  load(t.init_operation, "cublasLtMatmulDescInit_internal");
  load(t.set_operation, "cublasLtMatmulDescSetAttribute");
  load(t.init_layout, "cublasLtMatrixLayoutInit_internal");
  load(t.init_preference, "cublasLtMatmulPreferenceInit_internal");
  load(t.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  load(t.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  load(t.check_algorithm, "cublasLtMatmulAlgoCheck");
  load(t.get_algorithm, "cublasLtMatmulAlgoConfigGetAttribute");
  load(t.matmul, "cublasLtMatmul");
  return t;
}

}  // namespace octet::cuda
