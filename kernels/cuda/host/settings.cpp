#include "kernels/cuda/host/settings.h"

#include "kernels/gemm_timing.h"

namespace octet {
namespace {

CudaSettings current;
AlgorithmChoices choices;
int version = 0;

}  // namespace

void set_cuda_settings(const CudaSettings& settings) {
  current = settings;
  ++version;
}

void use_gemm_choices(const AlgorithmChoices& other) {
  choices = other;
  ++version;
}

const AlgorithmChoices& cuda::gemm_choices() {
  return choices;
}

const CudaSettings& cuda::settings() {
  return current;
}

int cuda::settings_version() {
  return version;
}

}  // namespace octet
