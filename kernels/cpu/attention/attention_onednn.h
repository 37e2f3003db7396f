#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/gemm/multiply.h"
#include "src/base/bfloat16.h"

/// Attention in bf16 by oneDNN's products, on processors on which these are faster than fp32's (cpu.gemm). A call costs
/// 1 to 3 µs, so blocks are larger than the tiles of attention_tiles.h. Probabilities and the gradients of scores are
/// rounded to bf16 before they are multiplied, as on a GPU; maxima, sums and all that is added up stay fp32.
namespace octet::cpu::attention {

/// A multiple of `tile` each; at the ends of a sequence blocks are smaller, but whole tiles.
inline constexpr std::int64_t block_queries = 128, block_keys = 256;

/// Whether a shape is computed here. It follows from the dtype and the processor, or the setting cpu.gemm.
bool takes_onednn(const AttentionShape& shape);
/// As attention_forward and attention_backward, with their workspaces.
void forward_by_onednn(const AttentionForward& args);
void backward_by_onednn(const AttentionBackward& args);

/// Rounds to nearest even. A NaN stays one, since its last bits are zero: it comes from bf16 or is the processor's own.
/// `p` is aligned to the vector's own size.
inline void store(bf16* p, Vector v) {
  using Unsigned = std::uint32_t __attribute__((vector_size(sizeof(Vector)), may_alias));
  using Narrow = std::uint16_t __attribute__((vector_size(sizeof(Vector) / 2), may_alias));
  const Unsigned bits = reinterpret_cast<const Unsigned&>(v);
  *reinterpret_cast<Narrow*>(p) = __builtin_convertvector((bits + 0x7FFF + (bits >> 16 & 1)) >> 16, Narrow);
}

/// c[m, n] = scale · a[m, k] · b[k, n] + beta · c, beta 0 or 1; a and b are bf16, c is fp32. Rows lie behind each other
/// without gaps: oneDNN 2.6 has no fast kernel otherwise.
struct BlockProduct {
  MultiplyOperand a, b;
  float* c;
  std::int64_t m, n, k;
  float scale = 1.0f, beta = 0.0f;
};
inline void multiply(const BlockProduct& x) {
  cpu::multiply({.input = DType::bf16,
                 .a = x.a,
                 .b = x.b,
                 .c = x.c,
                 .c_stride = x.n,
                 .m = x.m,
                 .n = x.n,
                 .k = x.k,
                 .beta = x.beta,
                 .scale = x.scale});
}

}  // namespace octet::cpu::attention
