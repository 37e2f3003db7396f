// Loads cuBLASLt, cuDNN and NVRTC as a run does, whose log says which: each is loaded once in the life of a process.
// Then has the stand-in for cuDNN make what stands for a plan. With the word cudnn it begins with cuDNN, as a run of
// one rank does, whose memory plan asks cuDNN before there is a GEMM.
#include <dlfcn.h>

#include <string_view>

#include "kernels/cuda/host/cublas_lt.h"
#include "kernels/cuda/host/cudnn_loading.h"
#include "src/base/error.h"
#include "src/base/log.h"

int main(int count, char** words) {
  try {
    const bool cudnn_first = count > 1 && std::string_view(words[1]) == "cudnn";
    if (!cudnn_first) octet::cuda::load_cublas_lt();
    void* const cudnn = octet::cuda::cudnn_library();
    if (void* const plan = dlsym(cudnn, "stand_in_plan"); plan != nullptr) {
      if (const char* why_not = reinterpret_cast<const char* (*)()>(plan)(); why_not != nullptr) {
        octet::log::error("no plan: {}", why_not);
        return 1;
      }
    }
    octet::cuda::load_cublas_lt();
    return 0;
  } catch (const octet::Error& error) {
    octet::log::error("{}", error.what());
    return 1;
  }
}
