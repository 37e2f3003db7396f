#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/ops/precision.h"
#include "src/ops/scaling.h"

namespace octet {

/// The forms of an output gradient that its two GEMMs read.
struct GradOperand {
  Tensor for_input;   ///< [n, out], for the gradient of the input
  Tensor for_weight;  ///< for that of the weight: [n, out], or [out, n] of fp8 where kernels read along k only
};

/// How linears compute: in which formats their three GEMMs read the operands, where an operand is cast, what of it is
/// kept and travels, and where the scales come from. A recipe is resolved once from the configuration, and nobody asks
/// for its name. This class itself is that of fp32 and bf16: nothing is cast. Each value of `float8.recipe` is a class
/// in src/ops/recipes, whose recipe_list.h has them all.
///
/// There are two kinds. One that casts first has one scale a tensor: whoever makes an input or output gradient casts
/// it, and it is kept and gathered as fp8 bytes, as weights are. One that casts where a GEMM reads has several scales a
/// tensor; inputs, gradients and weights are kept and gathered in bf16, and what the casts make is scratch.
///
/// Kernels whose fp8 GEMM reads both operands along k only (KernelTable::float8_gemm_k_major) need some operands
/// transposed in backward; these copies are made as seldom as can be, and in scratch unless it says otherwise:
///   y  = x wᵀ    none: x [n, in] and w [out, in] lie along k = in;
///   dx = dy w    wᵀ [in, out], for the length of the GEMM;
///   dw = dyᵀ x   dyᵀ [out, n], by the pass that casts dy where there is one, and xᵀ [in, n], once for all linears that
///                share the input: by the pass that casts x, unless what it wrote is gathered
///                (LinearInput::keeps_transposed).
class Recipe {
 public:
  Recipe() = default;
  virtual ~Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

  static constexpr DType input_format = DType::e4m3;
  static constexpr DType weight_format = DType::e4m3;

  virtual bool float8() const { return false; }
  virtual bool casts_first() const { return false; }
  bool casts_where_read() const { return float8() && !casts_first(); }
  /// The format of output gradients in fp8 recipes.
  virtual DType grad_output_format() const { return DType::e4m3; }
  virtual bool float8_grad_weight() const { return float8(); }
  /// Extents of fp8 GEMMs are multiples of it: cuBLASLt's rule, by which torchao filters too.
  virtual std::int64_t multiple() const { return 16; }
  /// Whether cuBLASLt has its GEMMs for GPUs of this compute capability (90: Hopper), and which those are, in words.
  virtual bool runs_on(int) const { return true; }
  virtual std::string_view gpus() const { return "any GPU"; }
  /// Sums may go on without being promoted to fp32; and how fp8 products are summed.
  virtual bool may_sum_fast() const { return true; }
  virtual const Float8Sums& sums() const;

  /// Weights that feed fp8 linears travel as fp8 bytes.
  virtual bool gathers_float8() const { return false; }
  /// Scales are rounded down to a power of two, which makes the multiplication by them exact.
  virtual bool power_of_two() const { return false; }
  /// Scales come from the abs-maxes of steps before: state, which checkpoints hold.
  virtual bool remembers() const { return false; }
  /// The scale of a weight comes from the whole weight after its update, so ranks that share it exchange abs-maxes
  /// then.
  bool scales_of_updated_weights() const { return casts_first() && !remembers(); }
  /// Makes the object that gives the scales of a model with so many casts.
  virtual std::unique_ptr<Float8Scaling> make_scaling(const CastCounts&, Stream&) const;

  /// too_small: a weight [n, k] is so small that its linear is faster in bf16, by H100 measurements: torchao's
  /// _auto_filter_for_recipe (float8_linear_utils.py), which has limits for some recipes.
  virtual bool has_limits() const { return false; }
  virtual bool too_small(std::int64_t, std::int64_t) const { return false; }
  /// The recipe whole, for the log: "recipe delayed: ...".
  virtual std::string describe() const { return {}; }

  // Operands in the forms that GEMMs read. x and w come as they were kept and gathered, dy in the storage dtype; all of
  // them are of all tokens unless it says otherwise. Results are the argument itself or scratch of the caller's scope.

  /// The input in fp8, into `storage`, and transposed into `transposed`, each where it is not null; of a recipe that
  /// casts first. The abs-max of x is in `scale`, or is taken here (`stats`, as in quantize). `again`: the scale is
  /// there from a cast before, and gives the same bytes.
  virtual Tensor cast_input(OpContext& op, const CastSource& x, const QuantScale& scale, bool again, void* storage,
                            void* transposed, const StatsOut& stats) const;
  virtual Tensor input_for_output(OpContext&, const Tensor& x) const { return x; }
  virtual Tensor input_for_grad_weight(OpContext&, const Tensor& x) const { return x; }
  virtual Tensor weight_for_output(OpContext&, const Tensor& w) const { return w; }
  virtual Tensor weight_for_grad_input(OpContext&, const Tensor& w) const { return w; }
  /// `scale` holds the abs-max of dy where the recipe casts first.
  virtual GradOperand grad_output(OpContext&, const Tensor& dy, const QuantScale&) const { return {dy, dy}; }
  /// grad_output in two parts, around a gather: this rank's rows as they travel, then all rows as they came. Not for
  /// a recipe that casts where a GEMM reads.
  virtual Tensor sent_grad_output(OpContext&, const Tensor& dy, const QuantScale&) const { return dy; }
  virtual GradOperand gathered_grad_output(OpContext&, const Tensor& dy) const { return {dy, dy}; }
};

using RecipePtr = std::shared_ptr<const Recipe>;

/// The recipe of fp32 and bf16.
const RecipePtr& plain_recipe();

/// A linear's name and how it computes.
struct LinearRecipe {
  std::string_view name;  ///< "attention.wq", for traces
  RecipePtr recipe = plain_recipe();

  bool float8() const { return recipe->float8(); }
  const Recipe* operator->() const { return recipe.get(); }
};

}  // namespace octet
