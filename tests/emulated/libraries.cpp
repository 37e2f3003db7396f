// The libraries that the emulated device has, in place of kernels/cuda/host/{cublas_lt,cudnn_loading}.cpp: a cuBLASLt
// that refuses what the real one does and multiplies on the processor, and no cuDNN, so that Octet's own attention
// runs.
#include "kernels/cuda/host/cublas_lt.h"
#include "kernels/cuda/host/cudnn_loading.h"
#include "src/base/error.h"
#include "tests/cuda/fake_cublas_lt.h"
#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/lt_product.h"
#include "tests/emulated/streams.h"

namespace octet::cuda {
namespace {

using cuda_test::FakeLibrary, cuda_test::Product;

cublasStatus_t multiply(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                        cublasLtMatrixLayout_t first, const void* b, cublasLtMatrixLayout_t second, const void* beta,
                        const void* c_data, cublasLtMatrixLayout_t c, void* d_data, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t*, void* workspace, std::size_t workspace_bytes,
                        cudaStream_t stream) {
  using cuda_test::number_of;
  const FakeLibrary& library = FakeLibrary::get();
  const Product product = cuda_test::product_of(operation, first, second, c, d);
  const Product::Addresses at{number_of(a), number_of(b), number_of(c_data), number_of(d_data), number_of(workspace)};
  const float factor = *static_cast<const float*>(alpha), kept = *static_cast<const float*>(beta);
  if (!cuda_test::broken_rule(product, at, library.version, library.hopper).empty()) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (kept != 0 && c_data == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  emulated::Device& device = emulated::Device::get();
  const emulated::Lock lock(device.mutex);
  device.give(stream, "cublasLtMatmul", [=] {
    emulated::piece_writes(workspace, workspace_bytes);
    emulated::multiply(product, at, factor, kept);
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

void CublasLt::check(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw internal_error("kernels", "cuBLASLt: {}: status {}", what, static_cast<int>(status));
}

CublasLt load_cublas_lt() {
  CublasLt library = cuda_test::fake_cublas_lt();
  library.create = [](cublasLtHandle_t* handle) {
    *handle = nullptr;
    return CUBLAS_STATUS_SUCCESS;
  };
  library.matmul = multiply;
  return library;
}

void* cudnn_library() {
  throw usage_error("device", "the emulated device has no cuDNN");
}
std::size_t cudnn_version() {
  return 0;
}
const std::string& why_no_nvrtc() {
  static const std::string why = "the emulated device has no NVRTC";
  return why;
}
std::size_t nvrtc_version() {
  return 0;
}
void* open_for_cudnn(const char*, int) {
  return nullptr;
}
void* symbol_for_cudnn(void*, const char*) {
  return nullptr;
}

}  // namespace octet::cuda
