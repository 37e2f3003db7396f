// Loads cuBLASLt, cuDNN and NVRTC as a run does, whose log says which: each is loaded once in the life of a process.
#include "kernels/cuda/host/cublas_lt.h"
#include "kernels/cuda/host/cudnn_loading.h"
#include "src/base/error.h"
#include "src/base/log.h"

int main() {
  try {
    octet::cuda::load_cublas_lt();
    octet::cuda::cudnn_library();
    return 0;
  } catch (const octet::Error& error) {
    octet::log::error("{}", error.what());
    return 1;
  }
}
