// Takes the place of cuBLASLt, cuDNN and NVRTC for the one question which copy of a library is opened: it has the
// functions that are looked up, and its version is the number in the file PATH.version beside it.
#include <dlfcn.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace {

char somewhere;  // an address in this library

std::size_t version() {
  Dl_info info{};
  if (dladdr(&somewhere, &info) == 0) return 0;
  std::ifstream file(std::string(info.dli_fname) + ".version");
  std::size_t number = 0;
  file >> number;
  return number;
}

}  // namespace

extern "C" {
std::size_t cublasLtGetVersion() {
  return version();
}
std::size_t cudnnGetVersion() {
  return version();
}
int nvrtcVersion(int* major, int* minor) {
  *major = static_cast<int>(version() / 10000);
  *minor = static_cast<int>(version() / 100 % 100);
  return 0;
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
