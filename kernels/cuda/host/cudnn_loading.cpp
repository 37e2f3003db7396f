#include "kernels/cuda/host/cudnn_loading.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <optional>
#include <string_view>
#include <utility>

#include "kernels/cuda/host/libraries.h"
#include "src/base/error.h"

namespace octet::cuda {
namespace {

char linked_run_time;  // its address stands for a library

template <typename Function>
std::pair<std::string_view, void*> entry(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

void* cudnn_library() {
  why_no_nvrtc();  // its version is logged
  struct Cudnn {
    void* handle = nullptr;
    std::optional<Error> why_not;
  };
  static const Cudnn loaded = []() -> Cudnn {
    try {
      const DynamicLibrary library = open_cudnn();
      library.log_version("cuDNN", library.function<std::size_t()>("cudnnGetVersion")());
      return {library.handle(), {}};
    } catch (const Error& error) {
      return {nullptr, error};
    }
  }();
  if (loaded.why_not) throw Error(*loaded.why_not);
  return loaded.handle;
}

std::size_t cudnn_version() {
  return reinterpret_cast<std::size_t (*)()>(dlsym(cudnn_library(), "cudnnGetVersion"))();
}

namespace {

struct Nvrtc {
  std::size_t version = 0;
  std::string why_not;
};

const Nvrtc& nvrtc() {
  static const Nvrtc loaded = []() -> Nvrtc {
    try {
      const DynamicLibrary library = open_nvrtc();
      int major = 0, minor = 0;
      library.function<int(int*, int*)>("nvrtcVersion")(&major, &minor);
      const auto version = static_cast<std::size_t>(major * 10000 + minor * 100);
      library.log_version("NVRTC", version);
      return {version, ""};
    } catch (const Error& error) {
      return {0, error.what()};
    }
  }();
  return loaded;
}

}  // namespace

const std::string& why_no_nvrtc() {
  return nvrtc().why_not;
}

std::size_t nvrtc_version() {
  return nvrtc().version;
}

void* open_for_cudnn(const char* file, int flags) {
  const std::string_view name = file;
  if (name.find("libnvrtc") != name.npos) return nullptr;
  if (name.find("libcudart") != name.npos) {
    // cudnn-frontend tries one major version after the other; a second that is found would be a warning.
    const bool other = name.find(".so.") != name.npos && !name.ends_with(fmt::format(".so.{}", cuda_major));
    return other ? nullptr : &linked_run_time;
  }
  return dlopen(file, flags);
}

void* symbol_for_cudnn(void* library, const char* name) {
  if (library != &linked_run_time) return dlsym(library, name);
  static const std::pair<std::string_view, void*> functions[] = {
    entry("cudaDeviceGetAttribute", &cudaDeviceGetAttribute),
    entry("cudaGetDevice", &cudaGetDevice),
    entry("cudaGetDriverEntryPointByVersion", &cudaGetDriverEntryPointByVersion),
    entry("cudaGetErrorString", &cudaGetErrorString),
    entry("cudaGetLastError", &cudaGetLastError),
    entry("cudaGraphRetainUserObject", &cudaGraphRetainUserObject),
    entry("cudaMemcpyAsync", &cudaMemcpyAsync),
    entry("cudaMemsetAsync", &cudaMemsetAsync),
    entry("cudaRuntimeGetVersion", &cudaRuntimeGetVersion),
#if CUDART_VERSION >= 13000
    entry("cudaStreamGetCaptureInfo", &cudaStreamGetCaptureInfo),
#else
    entry("cudaStreamGetCaptureInfo_v2", &cudaStreamGetCaptureInfo_v2),
#endif
    entry("cudaStreamIsCapturing", &cudaStreamIsCapturing),
    entry("cudaThreadExchangeStreamCaptureMode", &cudaThreadExchangeStreamCaptureMode),
    entry("cudaUserObjectCreate", &cudaUserObjectCreate),
    entry("cudaUserObjectRelease", &cudaUserObjectRelease),
  };
  for (const auto& [known, address] : functions) {
    if (known == name) return address;
  }
  return nullptr;
}

}  // namespace octet::cuda
