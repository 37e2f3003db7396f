#pragma once

#include "src/ops/context.h"
#include "src/ops/linear_recipe.h"
#include "src/ops/quantize.h"

namespace octet {

/// Casts of the rowwise recipes (torchao's "rowwise" and "rowwise_with_gw_hp"): e4m3, with a scale for every vector
/// along which a GEMM contracts, from that vector's own abs-max. A tensor that two GEMMs contract along different
/// dimensions is cast twice. All results are scratch of the caller's scope.
///
/// Under tensor parallelism a vector is what this rank has of it. No abs-max crosses ranks: a partial product is scaled
/// back before the partials are summed, so each rank's own scale is right, and the finer one. With power-of-two scales
/// it moves nothing but what underflows.

/// A scale a row, for GEMMs that contract over the columns: [rows, columns].
Tensor quantize_by_row(OpContext& context, const Tensor& x);

/// A scale a column, for GEMMs that contract over the rows: [rows, columns], or its transposed copy [columns, rows]
/// where the kernels read fp8 operands along k only.
Tensor quantize_by_column(OpContext& context, const Tensor& x);

/// What the GEMMs of a linear read of its output gradient, of all the tokens: by row for the input's gradient, and for
/// the weight's either by column, or as it is where the recipe leaves that GEMM in bf16.
GradOperand quantize_grad_output(OpContext& context, const LinearRecipe& recipe, const Tensor& dy);

/// What the gradient of the input reads of a weight: by column, or in rowwise_with_gw_hp with one scale for the whole
/// of this rank's part; transposed as above.
Tensor quantize_weight_for_input(OpContext& context, const LinearRecipe& recipe, const Tensor& w);

}  // namespace octet
