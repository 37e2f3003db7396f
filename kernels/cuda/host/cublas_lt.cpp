#include "kernels/cuda/host/cublas_lt.h"

#include "kernels/cuda/host/libraries.h"
#include "src/base/error.h"

namespace octet::cuda {
namespace {

/// The oldest CUDA that Octet is built with (cmake/cuda.cmake), and the first with scales of rows, vectors and blocks.
/// An older library cannot be asked whether it has them: 12.6 does not know their attribute, and 12.8 takes any value
/// of it.
constexpr std::size_t oldest_cublas_lt = 120900;

}  // namespace

void CublasLt::check(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw internal_error("kernels", "cuBLASLt: {}: {}", what, status_name(status));
}

CublasLt load_cublas_lt() {
  static_assert(CUBLAS_VER_MAJOR == cuda_major, "headers of cuBLAS beside those of another CUDA");
  const DynamicLibrary library = open_cublas_lt();
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
  if (t.version() < oldest_cublas_lt) {
    throw usage_error("kernels",
                      "{} is cuBLASLt {}, the newest that could be opened; expected {} or later: install it (for "
                      "example `pip install --upgrade {}`) or name its folder in LD_LIBRARY_PATH",
                      library.path(), version_text(t.version()), version_text(oldest_cublas_lt),
                      cublas_lt_name().package);
  }
  library.log_version("cuBLASLt", t.version());
  return t;
}

}  // namespace octet::cuda
