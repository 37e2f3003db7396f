// How the libraries that compute are opened, so that each gets the others that it opens itself.
//
// They open each other by bare names: libcudnn.so.9, which is only a front, its sublibraries; these cuBLASLt and NVRTC;
// NVRTC its builtins. The loader looks for a bare name in LD_LIBRARY_PATH, then where the RUNPATH of the asking library
// points to (NVRTC has none), then in ldconfig's folders. None of these need be where DynamicLibrary found the library
// that asks: what the loader finds there may be a copy of another version, or of another CUDA, or nothing. Without
// cuBLASLt cuDNN then ends the process by abort(). But before it looks anywhere, the loader takes a library that is
// open and has that name, wherever it is from. So what a library will ask for is opened here before it is used: what
// belongs to it from its own folder, and of what does not the newest copy.
//
// That does not help with cuDNN's front: it asks for libcudnn_graph.so.9.19.0 first, with its own version, which no
// open library has as its name, and finds another copy's file of that name. Two graphs in one process make no plan. So
// calls go to the graph itself, which has all functions that are used here and asks for the others by names that are
// open.
#include "kernels/cuda/host/libraries.h"

#include <dlfcn.h>

#include <filesystem>

#include "src/base/error.h"
#include "src/base/log.h"

namespace octet::cuda {
namespace {

namespace fs = std::filesystem;

/// Those of which attention makes use, each after the ones that it is linked with; the last is there from 9.23 on.
constexpr const char* cudnn_sublibraries[] = {
    "graph", "ops", "heuristic", "engines_precompiled", "engines_runtime_compiled", "engines_tensor_ir"};

std::string sublibrary(const char* name) {
  return fmt::format("libcudnn_{}.so.9", name);
}

/// Empty where cuDNN was made for the CUDA of this program. `made_for`: as cudnnGetCudartVersion gives it, 13010.
std::string why_not_cudnn(const std::string& path, std::size_t made_for) {
  if (made_for / 1000 == cuda_major) return "";
  return fmt::format("{} is cuDNN for CUDA {}, and this program is of CUDA {}", path, made_for / 1000, cuda_major);
}

/// Asks a copy before it is opened, in a namespace of its own, since a sublibrary stays open even if it is closed, and
/// the loader would give it to the next copy too, which asks for the same name. The namespace stays as well, and a
/// process has room for a dozen. Empty where there is no answer.
std::string why_not_cudnn_at(const std::string& path) {
  const fs::path graph = fs::path(path).parent_path() / sublibrary(cudnn_sublibraries[0]);
  void* const apart = dlmopen(LM_ID_NEWLM, graph.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (apart == nullptr) return "";
  const auto made_for = reinterpret_cast<std::size_t (*)()>(dlsym(apart, "cudnnGetCudartVersion"));
  const std::string why = made_for == nullptr ? "" : why_not_cudnn(path, made_for());
  dlclose(apart);
  if (!why.empty()) log::info("passed over: {}", why);
  return why;
}

}  // namespace

DynamicLibrary open_cublas_lt() {
  return {cublas_lt_name().file, cublas_lt_name().package, LibraryChoice::newest};
}

DynamicLibrary open_nvrtc() {
  const DynamicLibrary library(nvrtc_name().file, nvrtc_name().package, LibraryChoice::newest);
  int major = 0, minor = 0;
  library.function<int(int*, int*)>("nvrtcVersion")(&major, &minor);
  library.open_beside(fmt::format("libnvrtc-builtins.so.{}.{}", major, minor));
  return library;
}

DynamicLibrary open_cudnn() {
  open_cublas_lt();
  try {
    open_nvrtc();
  } catch (const Error&) {  // who needs a plan is told of it then (why_no_nvrtc)
  }
  DynamicLibrary library(cudnn_name().file, cudnn_name().package, LibraryChoice::newest, why_not_cudnn_at);
  void* const graph = library.open_beside(sublibrary(cudnn_sublibraries[0]));
  for (const char* name : cudnn_sublibraries) library.open_beside(sublibrary(name));
  if (graph != nullptr) library.call(graph);
  // Once more, for a copy that gave no answer.
  const std::size_t made_for = library.function<std::size_t()>("cudnnGetCudartVersion")();
  if (const std::string why = why_not_cudnn(library.path(), made_for); !why.empty()) {
    throw usage_error("device",
                      "{}: `pip install --upgrade {}`, and leave the folder of this one out of LD_LIBRARY_PATH", why,
                      cudnn_name().package);
  }
  return library;
}

}  // namespace octet::cuda
