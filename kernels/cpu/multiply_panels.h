#pragma once

#include "kernels/cpu/gemm_input.h"
#include "kernels/cpu/multiply.h"

namespace octet::cpu {

/// A · Bᵀ of fp32 by our own loops, for B as weights are stored: `a` as it is, `b` transposed. Each sum is taken in the
/// order of k, one fused multiply-add after the other, whatever the threads. Other bits than oneDNN's sgemm, which
/// training keeps.
void multiply_panels(const Multiply& args);

/// Whether multiply_panels takes the product at all.
bool could_be_panels(const Multiply& args);
/// Whether it is faster than oneDNN there: with AVX2 alone, where it has 0.95 of the peak and oneDNN 0.88. Where there
/// is AVX-512, oneDNN uses it also in a build for AVX2.
bool panels_are_faster(const CpuFeatures& cpu);

}  // namespace octet::cpu
