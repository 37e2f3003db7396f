// Takes the place of cuBLASLt, of NVRTC and its builtins, and of cuDNN and its sublibraries, for the question which
// copy of each is opened. What it is, its file's name says; its version is the number in the file PATH.version beside
// it, and behind that stands, for cuDNN, the CUDA that it was made for, counted as cudnnGetCudartVersion does. Like the
// real ones (cuDNN 9.14 to 9.20, NVRTC 13.0, without a GPU) they open each other by bare names, when they are asked for
// something, and so by the loader's rule. cuDNN's front asks with its whole version first, as theirs does.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

char somewhere;  // an address in this library

std::string path() {
  Dl_info info{};
  return dladdr(&somewhere, &info) == 0 ? "" : info.dli_fname;
}

struct Version {
  std::size_t own = 0, cuda = 0;
};
Version version() {
  std::ifstream file(path() + ".version");
  Version numbers;
  file >> numbers.own >> numbers.cuda;
  return numbers;
}

/// Of cuDNN, all of which is in its sublibraries.
bool is_front() {
  return path().ends_with("/libcudnn.so.9");
}

/// The graph that the front finds: "libcudnn_graph.so.9.99.0", ".so.9.99" or ".so.9".
std::string graph_of_front() {
  std::string name = "libcudnn_graph.so.9.";
  name += std::to_string(version().own / 100 % 100);
  for (const char* end : {".0", ""}) {
    if (dlopen((name + end).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return name + end;
  }
  return name.substr(0, name.rfind('.'));
}

/// A function of a library that is opened by its bare name. The real cuDNN ends the process so where there is none.
template <typename Result>
Result ask(const std::string& library, const char* name) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "Invalid handle. Cannot load symbol %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Result (*)()>(dlsym(handle, name))();
}

}  // namespace

extern "C" {
std::size_t cublasLtGetVersion() {
  return version().own;
}
int nvrtcVersion(int* major, int* minor) {
  *major = static_cast<int>(version().own / 10000);
  *minor = static_cast<int>(version().own / 100 % 100);
  return 0;
}
/// In place of a compilation: NVRTC_ERROR_BUILTIN_OPERATION_FAILURE where its builtins are not found.
int nvrtcCompileProgram() {
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  const std::string builtins = "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
  if (dlopen(builtins.c_str(), RTLD_NOW) != nullptr) return 0;
  std::fprintf(stderr, "nvrtc: error: failed to open %s\n", builtins.c_str());
  return 7;
}

std::size_t cudnnGetVersion() {
  return is_front() ? ask<std::size_t>(graph_of_front(), "cudnnGetVersion") : version().own;
}
std::size_t cudnnGetCudartVersion() {
  return is_front() ? ask<std::size_t>(graph_of_front(), "cudnnGetCudartVersion") : version().cuda;
}
/// The graph with which an engine is linked: the one that is open under that name.
const void* stand_in_graph() {
  return dlopen("libcudnn_graph.so.9", RTLD_NOW);
}
/// In place of a plan: null, or why there is none. It wants sublibraries of one version and one graph alone, cuBLASLt
/// and NVRTC of the CUDA that it was made for, and a kernel compiled. The real one takes any cuBLASLt that the loader
/// finds; this one that which is open, so that no copy on the machine of the test hides that Octet has not opened its
/// own.
const char* stand_in_plan() {
  if (is_front()) return ask<const char*>(graph_of_front(), "stand_in_plan");
  if (ask<std::size_t>("libcudnn_engines_precompiled.so.9", "cudnnGetVersion") != version().own) {
    return "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
  }
  if (ask<const void*>("libcudnn_engines_precompiled.so.9", "stand_in_graph") != dlopen(path().c_str(), RTLD_NOW)) {
    return "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED";
  }
  const std::string cuda = std::to_string(version().cuda / 1000);
  if (dlopen(("libcublasLt.so." + cuda).c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr) {
    std::fprintf(stderr, "Invalid handle. Cannot load symbol cublasLtGetVersion\n");
    std::abort();
  }
  return ask<int>("libnvrtc.so." + cuda, "nvrtcCompileProgram") == 0 ? nullptr : "compilationResult != NVRTC_SUCCESS";
}
}

#define NEVER_CALLED(name) \
  extern "C" void name() {}
NEVER_CALLED(cublasLtCreate)
NEVER_CALLED(cublasLtGetStatusName)
NEVER_CALLED(cublasLtMatmul)
NEVER_CALLED(cublasLtMatmulAlgoCheck)
NEVER_CALLED(cublasLtMatmulAlgoConfigGetAttribute)
NEVER_CALLED(cublasLtMatmulAlgoGetHeuristic)
NEVER_CALLED(cublasLtMatmulDescInit_internal)
NEVER_CALLED(cublasLtMatmulDescSetAttribute)
NEVER_CALLED(cublasLtMatmulPreferenceInit_internal)
NEVER_CALLED(cublasLtMatmulPreferenceSetAttribute)
NEVER_CALLED(cublasLtMatrixLayoutInit_internal)
