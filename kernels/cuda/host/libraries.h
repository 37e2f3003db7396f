#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

/// Names of the libraries that are loaded when they are first needed, of the major version of CUDA whose headers this
/// build has: one process cannot mix them.
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
inline LibraryName cudnn_name() {
  return {"libcudnn.so.9", fmt::format("nvidia-cudnn-cu{}", cuda_major)};
}

}  // namespace octet::cuda
