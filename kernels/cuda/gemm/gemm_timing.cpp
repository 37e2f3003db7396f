#include "kernels/gemm_timing.h"

#include "kernels/cuda/gemm/gemm_library.h"
#include "kernels/cuda/host/cudnn_loading.h"
#include "src/base/error.h"
#include "src/device/cuda/dynamic_library.h"

namespace octet {
namespace {

/// A run without cuDNN's attention goes on without cuDNN, so that a lack of it is no error here.
std::string cudnn_version_text() {
  try {
    return cuda::version_text(cuda::cudnn_version());
  } catch (const Error&) {
    return "none";
  }
}

}  // namespace

AlgorithmPlatform gemm_platform(Stream& stream) {
  return cuda::GemmLibrary::of(stream).platform();
}

std::string library_versions(Stream& stream) {
  const std::size_t nvrtc = cuda::nvrtc_version();
  return fmt::format("cuBLASLt {}, cuDNN {}, NVRTC {}", cuda::version_text(gemm_platform(stream).library_version),
                     cudnn_version_text(), nvrtc == 0 ? "none" : cuda::version_text(nvrtc));
}

std::vector<Gemm> library_products(Stream& stream, const Gemm& args) {
  return cuda::GemmLibrary::of(stream).products(args);
}

std::string gemm_problem(const Gemm& product) {
  return cuda::describe(product).text();
}

AlgorithmChoices time_gemms(Stream& stream, std::span<const Gemm> products) {
  return cuda::GemmLibrary::of(stream).time(stream, products);
}

}  // namespace octet
