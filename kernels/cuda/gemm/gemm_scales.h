#pragma once

#include "kernels/gemm.h"

namespace octet::cuda {

/// C = sums · (inverse scales of row and column) (+ C): the end of a GEMM whose scales the library cannot apply.
/// `sums` [args.m, args.n] fp32. Moves m · n · (4 + size of C), and C once more with beta 1.
void scale_sums(Stream& stream, const Gemm& args, const float* sums);

}  // namespace octet::cuda
