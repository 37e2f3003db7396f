#pragma once

#include "kernels/cuda_settings.h"
#include "kernels/plan_choices.h"

namespace octet::cuda {

/// The settings in force.
const CudaSettings& settings();
/// The choices in force (use_gemm_choices).
const PlanChoices& gemm_choices();
/// Grows with every call of set_cuda_settings and of use_gemm_choices: what was chosen under other settings is to be
/// chosen again.
int settings_version();

}  // namespace octet::cuda
