#pragma once

#include <span>
#include <vector>

#include "src/ops/produced.h"
#include "src/ops/recipe.h"
#include "src/ops/rows.h"

namespace octet {

/// The input of the linears of a group, in the forms that they read: as produced (`high`), and cast to fp8 once for all
/// of them that want it (`quantized`). What backward reads of it is kept; the rest is scratch.
struct LinearInput {
  Tensor high;                 ///< storage dtype
  Tensor quantized;            ///< e4m3 of a recipe that casts first, else of rank 0
  Tensor transposed{};         ///< [in, n] of e4m3, kept in place of `quantized`; of rank 0 unless keeps_transposed()
  QuantScale scale;            ///< of the cast; lives as long as `quantized`
  bool keep_high = true;       ///< false: `high` is scratch and gone after forward, or is never stored
  bool keep_gathered = false;  ///< the gathered forms stay until backward; else it gathers again into scratch
  bool is_gathered = false;    ///< all tokens lie in `gathered_high` and `gathered_quantized`
  /// What the linears read: `high` and `quantized` themselves, or of all tokens once they are gathered.
  Tensor gathered_high{}, gathered_quantized{};

  bool is_cast() const { return quantized.shape.rank() != 0; }
  /// Says whether the cast also writes a transposed copy, which backward reads where kernels read along k only. Then
  /// that copy is kept, and the form that forward reads is scratch: no more bytes are kept, and backward needs no pass
  /// of its own for it.
  bool keeps_transposed() const { return transposed.shape.rank() != 0; }
  /// Says whether the scale is known before the values: then whoever makes `high` writes `quantized` in the same pass,
  /// and `high` itself only where that is kept.
  bool is_cast_by_producer() const { return is_cast() && scale.known; }
  /// A form of it that is kept until backward.
  const Tensor& kept() const { return keeps_transposed() ? transposed : is_cast() ? quantized : high; }
};

/// A weight in backward: [out, in] as it was gathered, and its transposed copy [in, out] where one is kept, else of
/// rank 0: then the linear makes one for the length of a GEMM, where kernels want it.
struct WeightOperand {
  Tensor rows;
  Tensor transposed{};
};

/// An output gradient [n, out] on its way to a linear: as produced, with the scale that holds its abs-max where the
/// recipe casts first; and in fp8, where the scale was known before the values and its producer has written it so.
struct OutputGradient {
  Tensor dy;
  QuantScale scale{};
  Tensor quantized{};   ///< of rank 0: the linear casts dy; else nobody reads dy's data
  Tensor transposed{};  ///< of it, [out, n]; of rank 0: not made

  bool is_cast() const { return quantized.shape.rank() != 0; }
  /// Where its producer is to leave the fp8 forms, if any.
  Float8Out float8() const;
  /// What its producer is to leave. `non_finite`: counts elements that are not finite; null: they are not counted.
  Produced produced(std::uint32_t* non_finite) const {
    return {dy, {.amax = scale.amax, .non_finite = non_finite}, float8()};
  }
};

/// Linears that read one input; some of them may be fp8 and some not. The fp8 ones have one recipe.
class LinearGroup {
 public:
  explicit LinearGroup(std::vector<LinearRecipe> linears);

  /// casts_first: the input is cast by its owner. reads_high: a linear, or a cast where a GEMM reads, reads the input
  /// in the storage dtype.
  bool casts_first() const { return fp8_recipe_->casts_first(); }
  bool reads_high() const { return any_plain_ || !casts_first(); }

  /// Casts x.high, whose abs-max is in x.scale.amax, when the recipe casts first. `again`: the input was cast before
  /// and its bytes are gone; the same scale gives the same bytes. With keeps_transposed() `quantized` may have no data:
  /// then only the transposed copy is made. `stats`: statistics of x.high, where they are to be taken here.
  void cast(OpContext& op, LinearInput& x, bool again, const StatsOut& stats = {}) const {
    cast(op, x, x.high, again, stats);
  }
  /// The same of an input that is not stored: x.high has no data.
  void cast(OpContext& op, LinearInput& x, const CastSource& source, bool again, const StatsOut& stats = {}) const;
  /// Where the producer of x.high writes the fp8 forms, if it does so itself (LinearInput::is_cast_by_producer).
  /// `transposed`: it can write that form too.
  static Float8Out float8_destination(const LinearInput& x, bool transposed);
  /// To be called then in place of cast(). `transposed`: the producer has written that form too.
  void finish_producer_cast(OpContext& op, LinearInput& x, bool transposed) const;

 protected:
  /// The forms of x that are gathered are those of this rank, until they are.
  static void nothing_gathered(LinearInput& x);
  /// What the GEMMs of backward read of an output gradient that need not be gathered.
  static GradOperand operands(OpContext& op, const LinearRecipe& linear, const OutputGradient& dy);
  /// The form of the input that an fp8 linear reads, or casts where its GEMM reads.
  const Tensor& fp8_source(const LinearInput& x) const {
    return casts_first() ? x.gathered_quantized : x.gathered_high;
  }
  /// What the weight gradients of the fp8 linears read of it.
  Tensor for_grad_weight(OpContext& op, const LinearInput& x) const {
    return x.keeps_transposed() ? x.transposed : fp8_recipe_->input_for_grad_weight(op, fp8_source(x));
  }
  /// The input's form for a linear, of those for all fp8 linears and for the others.
  static const Tensor& pick(const LinearRecipe& linear, const Tensor& float8, const Tensor& high) {
    return linear.float8() ? float8 : high;
  }
  static Tensor for_grad_input(OpContext& op, const LinearRecipe& linear, const WeightOperand& w) {
    return w.transposed.shape.rank() != 0 ? w.transposed : linear->weight_for_grad_input(op, w.rows);
  }
  /// The GEMM of a linear's weight gradient; `float8`: of x, for the fp8 linears.
  void grad_weight(OpContext& op, const LinearRecipe& linear, const GradOperand& dy, const LinearInput& x,
                   const Tensor& float8, const GradientTarget& dw) const;

  std::vector<LinearRecipe> linears_;
  RecipePtr fp8_recipe_ = plain_recipe();  ///< of the linears that are fp8; plain where none is
  bool any_plain_ = false;
};

/// Column-parallel linears that share an input (q, k, v; w1, w3). Under tensor parallelism the input is produced for
/// this rank's rows of the tokens, cast there where the recipe casts first, and gathered once for all of them; each
/// rank has some columns of every output; the gradient of the input is one sum over linears and ranks.
class ColumnGroup : public LinearGroup {
 public:
  using LinearGroup::LinearGroup;

  /// Gathers the input, unless it lies there, and makes each y [n, out] that has a shape. Weights in the order of the
  /// linears.
  void forward(OpContext& op, LinearInput& x, std::span<const Tensor> weights, std::span<const Tensor> ys) const;

  /// dx, of this rank's rows, and the weight gradients, all in the order of the linears. Gathers the input again where
  /// it was not kept. With an exchange in parts, parts of dx leave while the last linear makes the others. Without
  /// `dws` weight gradients are left to weight_gradients().
  void backward(OpContext& op, LinearInput& x, std::span<const OutputGradient> dys,
                std::span<const WeightOperand> weights, std::span<const GradientTarget> dws, const Tensor& dx) const;
  /// The weight gradients alone. The scales of dys that were cast before are known: they give the same bytes.
  void weight_gradients(OpContext& op, LinearInput& x, std::span<const OutputGradient> dys,
                        std::span<const GradientTarget> dws) const;
};

/// A row-parallel linear (wo, w2). Under tensor parallelism each rank has its columns of the input, of all tokens, and
/// makes a partial sum of the output, of which it gets its rows.
class RowLinear : public LinearGroup {
 public:
  explicit RowLinear(const LinearRecipe& linear) : LinearGroup({linear}) {}

  void forward(OpContext& op, LinearInput& x, const Tensor& weight, const Tensor& y) const;
  /// dy is of this rank's rows: it is gathered, as fp8 bytes where the recipe casts first, and dx [n, in] is made as
  /// its parts come. A dw of rank 0 is left to weight_gradient().
  void backward(OpContext& op, LinearInput& x, const OutputGradient& dy, const WeightOperand& weight,
                const GradientTarget& dw, const Tensor& dx) const;
  /// As ColumnGroup::weight_gradients. Gathers dy again.
  void weight_gradient(OpContext& op, LinearInput& x, const OutputGradient& dy, const GradientTarget& dw) const;

 private:
  using RowsGradientWork = std::function<void(const Tensor& rows, std::int64_t first)>;
  GradOperand gather(OpContext& op, const OutputGradient& dy, const RowsGradientWork& work) const;
};

}  // namespace octet
