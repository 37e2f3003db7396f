#pragma once

#include <cstdint>

#include "kernels/gemm.h"

namespace octet::cpu {

/// How one GEMM is computed and cut: chunk by chunk, with widened operands and fp32 sums in the workspace, so that they
/// are still in a shared cache when they are read.
struct GemmPlan {
  /// Products go through hopper_multiply, which sums all of k at once, or one block of 128 where scales lie along k.
  bool hopper = false;
  /// Scales lie along k. Without `hopper` operands are scaled as they are widened: their values are multiplied, not
  /// their codes.
  bool scales_along_k = false;
  DType input = DType::f32;  ///< what oneDNN multiplies
  /// What the operands have become when they are multiplied: `input`, or with `hopper` their own codes.
  DType a_form = DType::f32, b_form = DType::f32;
  bool widen_a = false, widen_b = false;  ///< an operand is not stored in its form
  /// Sums go to the workspace, from where they are scaled, added and rounded; otherwise oneDNN writes C.
  bool sums_apart = false;
  std::int64_t chunk_m = 0, chunk_n = 0, chunk_k = 0;  ///< extents of a chunk; those at the ends are smaller
  /// The parts of the workspace, in this order: a chunk of each operand that is widened, the sums of a chunk of C, and
  /// for `hopper` with `scales_along_k` those of one block of k.
  std::int64_t a_bytes = 0, b_bytes = 0, sums_bytes = 0, block_sums_bytes = 0;

  std::int64_t workspace() const { return a_bytes + b_bytes + sums_bytes + block_sums_bytes; }
};

/// The plan of a product, none of whose extents is zero. It follows from the arguments, without C's and the operands'
/// contents, and from gemm_input().
GemmPlan plan_of(const Gemm& args);

}  // namespace octet::cpu
