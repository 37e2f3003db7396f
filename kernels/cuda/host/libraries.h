#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "src/device/cuda/dynamic_library.h"

/// The libraries that compute, which are opened when they are first needed: of the major version of CUDA whose headers
/// this build has, since one process cannot mix them, and of each the newest copy.
namespace octet::cuda {

inline constexpr int cuda_major = CUDART_VERSION / 1000;

struct LibraryName {
  std::string file;
  std::string package;  ///< of PyPI, for messages
};

/// PyPI's packages of the toolkit, from CUDA 13 on, carry no version in their names.
inline LibraryName toolkit_library(std::string_view file, std::string_view package) {
  return {fmt::format("{}.so.{}", file, cuda_major),
          cuda_major < 13 ? fmt::format("{}-cu{}", package, cuda_major) : std::string(package)};
}
inline LibraryName cublas_lt_name() {
  return toolkit_library("libcublasLt", "nvidia-cublas");
}
inline LibraryName nvrtc_name() {
  return toolkit_library("libnvrtc", "nvidia-cuda-nvrtc");
}
/// Its file has the same name for every CUDA.
inline LibraryName cudnn_name() {
  return {"libcudnn.so.9", fmt::format("nvidia-cudnn-cu{}", cuda_major)};
}

// Each opens a library, cuDNN and NVRTC with all that they will open in their turn; again it gives the same. A usage
// error that says what to install, and where it was looked for, when there is none.

DynamicLibrary open_cublas_lt();
DynamicLibrary open_nvrtc();
/// Opens the other two before: without cuBLASLt there is no cuDNN, and without NVRTC it has no plan for attention. A
/// copy that is of another CUDA is passed over.
DynamicLibrary open_cudnn();

}  // namespace octet::cuda
