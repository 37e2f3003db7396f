#pragma once

#include "kernels/cuda_settings.h"

namespace octet::cuda {

/// The settings in force.
const CudaSettings& settings();
/// Grows with every call of set_cuda_settings: what was chosen under other settings is to be chosen again.
int settings_version();

}  // namespace octet::cuda
