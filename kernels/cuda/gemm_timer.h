#pragma once

#include "kernels/cuda/gemm_plans.h"
#include "src/device/device.h"

namespace octet::cuda {

/// Times plans of `args` on its stream, which it waits for; with beta = 1 into a scratch copy of C, so that C stays as
/// it is (with beta = 0 C is about to be overwritten anyway). Empty while the stream is being captured, and when there
/// is no memory for the copy.
std::vector<double> time_gemms(const CublasLt& library, cublasLtHandle_t handle, Stream& stream, const Gemm& args,
                               std::span<const GemmPlan> plans);

}  // namespace octet::cuda
