#pragma once

#include "kernels/cuda/gemm_plans.h"
#include "src/device/device.h"

namespace octet::cuda {

/// Times plans of `args` on its stream, which it waits for. C is written again and again.
std::vector<double> time_plans(const CublasLt& library, cublasLtHandle_t handle, Stream& stream, const Gemm& args,
                               std::span<const GemmPlan> plans);

}  // namespace octet::cuda
