#pragma once

#include <functional>

#include "src/ops/linear_recipe.h"
#include "src/ops/quantize.h"
#include "src/ops/rows.h"

namespace octet {

/// The input of one or several linears: as produced (`high`) and cast to fp8 once for all of them that want it.
/// Only the forms that a linear reads in backward are kept.
///
/// Tensor parallelism: the input of column-parallel linears (q, k, v; w1, w3) is produced for this rank's rows of the
/// tokens, cast there, and gathered (once for all linears of the group, fp8 as bytes). That of row-parallel linears
/// (wo, w2) is this rank's columns of all tokens, and nothing is gathered.
struct LinearInput {
  Tensor high;              ///< storage dtype
  Tensor quantized;         ///< e4m3 when a linear of the group is fp8 (not rowwise), else of no dtype of its own
  QuantScale scale;         ///< of the cast; lives as long as `quantized`
  bool any_float8 = false;  ///< of those that read `quantized`
  bool keep_high = true;    ///< false: only fp8 linears read this input, `high` is scratch and gone after forward

  Tensor all_high{}, all_quantized{};  ///< of all tokens, what the linears read: `high` and `quantized`, or gathered
  bool keep_all = false;               ///< the gathered forms stay until backward; else it gathers again into scratch

  /// A linear of the group is rowwise: `high` is kept, and travels, for it, and what its GEMMs read is cast from that.
  bool any_rowwise = false;
  bool any_rowwise_grad_weight = false;  ///< and the GEMM of its weight's gradient is fp8

  const Tensor& of(const LinearRecipe& recipe) const {
    return recipe.float8 && all_quantized.shape.rank() != 0 ? all_quantized : all_high;
  }
};

/// Casts x.high, whose abs-max is in x.scale.amax, when a linear of the group is fp8. The linears may read it then,
/// unless they are column-parallel.
void quantize_input(OpContext& context, LinearInput& x);

/// The same for an input that was cast before and whose bytes are gone: with the scales of then, the same bytes.
void quantize_input_again(OpContext& context, LinearInput& x);

/// After quantize_input, for column-parallel linears; `work` is what reads it, in forward (rows.h).
void gather_input(OpContext& context, LinearInput& x, const RowsWork& work);
/// In backward, unless keep_all.
void gather_input(OpContext& context, LinearInput& x);

/// The input as the forward GEMMs read it: for rowwise linears cast by row, in scratch, once for all of the group.
/// Otherwise x as it is.
LinearInput forward_input(OpContext& context, LinearInput x);

/// Kernels whose fp8 GEMM reads both operands along k only (KernelTable::float8_gemm_k_major) need transposed copies in
/// backward. All of them are scratch, and made as seldom as can be:
///   y  = x wᵀ    none: x [n, in] and w [out, in] lie along k = in;
///   dx = dy w    wᵀ [in, out], made by linear_grad_input for its own length (weights are kept in one layout);
///   dw = dyᵀ x   dyᵀ [out, n], written by the pass that casts dy, and xᵀ [in, n], made once by transpose_input for all
///                the linears that share the input.
/// For other kernels and recipes there are none, and nothing is spent on them. Rowwise linears cast anew what they
/// contract along another dimension, and write it in the layout that the kernels want.

/// The output gradient of one linear in the forms its GEMMs read. For an fp8 recipe it is cast in scratch; tensorwise
/// `scale.amax` holds the abs-max already.
GradOperand prepare_grad_output(OpContext& context, const LinearRecipe& recipe, const Tensor& dy,
                                const QuantScale& scale);

/// What is done with the rows of an output gradient from `first` on.
using GradRowsWork = std::function<void(const Tensor& dy, std::int64_t first)>;

/// The same for a row-parallel linear: dy is this rank's rows, cast with the abs-max of all and gathered as fp8 bytes;
/// for rowwise linears gathered, then cast. `work` gets `rows`, whole or as parts come (rows.h).
GradOperand gather_grad_output(OpContext& context, const LinearRecipe& recipe, const Tensor& dy,
                               const QuantScale& scale, const GradRowsWork& work);

/// What the weight gradients of the linears of a group read instead of x, in scratch: the transposed copy of
/// x.all_quantized, or a cast by column. Of rank 0 where they read x.
Tensor transpose_input(OpContext& context, const LinearInput& x);

/// The one linear: three GEMMs. x [n, in], w [out, in], y [n, out]; x, w and dy as `LinearInput::of`, the weight
/// provider and prepare_grad_output give them; rowwise linears get w in bf16. Shapes and formats are checked; a
/// mismatch is an internal error with the numbers, as is a transposed copy that is missing.
///   forward       y = x wᵀ
///   grad_input    dx (+)= dy w
///   grad_weight   dw (+)= dyᵀ x, fp32
void linear_forward(OpContext& context, const LinearRecipe& recipe, const Tensor& x, const Tensor& w, const Tensor& y);
void linear_grad_input(OpContext& context, const LinearRecipe& recipe, const Tensor& dy, const Tensor& w,
                       const Tensor& dx, bool accumulate);
/// The same, part by part of the tokens: with the weight as the GEMM reads it, in scratch where that is not w itself.
struct GradInputWeight {
  Tensor as_read;
  Shape shape;  ///< of w
};
GradInputWeight weight_for_grad_input(OpContext& context, const LinearRecipe& recipe, const Tensor& w);
void linear_grad_input(OpContext& context, const LinearRecipe& recipe, const Tensor& dy, const GradInputWeight& w,
                       const Tensor& dx, bool accumulate);
void linear_grad_weight(OpContext& context, const LinearRecipe& recipe, const GradOperand& dy, const GradOperand& x,
                        const Tensor& dw, bool accumulate);

}  // namespace octet
