#include "kernels/cuda/host/cublas_lt.h"

#include "kernels/cuda/host/libraries.h"
#include "src/base/error.h"
#include "src/device/cuda/dynamic_library.h"

namespace octet::cuda {

void CublasLt::check(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw internal_error("kernels", "cuBLASLt: {}: {}", what, status_name(status));
}

CublasLt load_cublas_lt() {
  static_assert(CUBLAS_VER_MAJOR == cuda_major, "headers of cuBLAS beside those of another CUDA");
  const DynamicLibrary library(cublas_lt_name().file, cublas_lt_name().package, LibraryChoice::newest);
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
  library.log_version("cuBLASLt", t.version());
  return t;
}

}  // namespace octet::cuda
