#pragma once

#include "kernels/algorithm_choices.h"
#include "kernels/cuda_settings.h"

namespace octet::cuda {

/// The settings in force.
const CudaSettings& settings();
/// The choices in force (use_gemm_choices).
const AlgorithmChoices& gemm_choices();
/// Grows with every call of set_cuda_settings and of use_gemm_choices: what was chosen under other settings is to be
/// chosen again.
int settings_version();

}  // namespace octet::cuda
