#include "src/ops/recipes/float8_recipe.h"
#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

/// A place in scratch for one form, and the tensor that will be there.
RowwiseForm take_form(OpContext& op, std::int64_t scales, const Tensor& x) {
  RowwiseForm form;
  form.y = op.scratch.allocate(x.elements());
  form.scale = op.scratch.allocate<float>(scales);
  form.inverse_scale = op.scratch.allocate<float>(scales);
  return form;
}

/// Casts of torchao's recipes "rowwise" and "rowwise_with_gw_hp": e4m3, with a scale for every vector along which a
/// GEMM contracts, from that vector's own abs-max. A tensor that two GEMMs contract along different dimensions is cast
/// twice.
///
/// Under tensor parallelism a vector is what this rank has of it. No abs-max crosses ranks: a partial product is scaled
/// back before the partials are summed, so each rank's own scale is right, and the finer one. With power-of-two scales
/// it moves nothing but what underflows.
class RowwiseRecipe : public Float8Recipe {
 public:
  explicit RowwiseRecipe(const Float8Config& config)
      : RowwiseRecipe(config, "a vector along which a GEMM sums, of its own abs-max") {}

  bool has_limits() const override { return true; }
  bool too_small(std::int64_t n, std::int64_t k) const override {
    return n <= 2048 || k <= 1024 || (n <= 4096 && k <= 2048);
  }

  Tensor input_for_output(OpContext& op, const Tensor& x) const override { return by_row(op, x); }
  Tensor input_for_grad_weight(OpContext& op, const Tensor& x) const override { return by_column(op, x); }
  Tensor weight_for_output(OpContext& op, const Tensor& w) const override { return by_row(op, w); }
  Tensor weight_for_grad_input(OpContext& op, const Tensor& w) const override { return by_column(op, w); }
  GradOperand grad_output(OpContext& op, const Tensor& dy, const QuantScale&) const override {
    const RowwiseForm rows = take_form(op, dy.shape[0], dy), columns = take_form(op, dy.shape[1], dy);
    quantize(op, dy, rows, columns);
    return {by_row_of(dy, rows), by_column_of(op, dy, columns)};
  }

 protected:
  RowwiseRecipe(const Float8Config& config, std::string_view scales) : Float8Recipe(config, scales, true) {}

  /// A scale a row, for GEMMs that contract over the columns: [rows, columns].
  Tensor by_row(OpContext& op, const Tensor& x) const {
    const RowwiseForm form = take_form(op, x.shape[0], x);
    quantize(op, x, form, {});
    return by_row_of(x, form);
  }

  /// A scale a column, for GEMMs that contract over the rows: [rows, columns], or its transposed copy [columns, rows]
  /// where the kernels read fp8 operands along k only.
  Tensor by_column(OpContext& op, const Tensor& x) const {
    const RowwiseForm form = take_form(op, x.shape[1], x);
    quantize(op, x, {}, form);
    return by_column_of(op, x, form);
  }

 private:
  static Tensor by_row_of(const Tensor& x, const RowwiseForm& form) {
    return {form.y, DType::e4m3, x.shape, form.inverse_scale, 0, ScaleForm::each};
  }

  static Tensor by_column_of(const OpContext& op, const Tensor& x, const RowwiseForm& form) {
    if (!op.kernels.float8_gemm_k_major) return {form.y, DType::e4m3, x.shape, form.inverse_scale, 1, ScaleForm::each};
    return {form.y, DType::e4m3, {x.shape[1], x.shape[0]}, form.inverse_scale, 0, ScaleForm::each};
  }

  void quantize(OpContext& op, const Tensor& x, const RowwiseForm& by_row, const RowwiseForm& by_column) const {
    op.kernels.quantize_rowwise(op.stream, {.x = x.data,
                                            .from = x.dtype,
                                            .rows = x.shape[0],
                                            .columns = x.shape[1],
                                            .to = DType::e4m3,
                                            .power_of_two = power_of_two(),
                                            .by_row = by_row,
                                            .by_column = by_column,
                                            .column_transposed = op.kernels.float8_gemm_k_major});
  }
};

/// The GEMM of the weight's gradient is bf16, and in that of the input's gradient the weight has one scale.
class RowwiseWithGwHpRecipe final : public RowwiseRecipe {
 public:
  explicit RowwiseWithGwHpRecipe(const Float8Config& config)
      : RowwiseRecipe(config, "a vector along which a GEMM sums, of its own abs-max; weight gradients in bf16") {}

  bool has_limits() const override { return false; }
  bool too_small(std::int64_t, std::int64_t) const override { return false; }
  bool float8_grad_weight() const override { return false; }

  Tensor input_for_grad_weight(OpContext&, const Tensor& x) const override { return x; }
  GradOperand grad_output(OpContext& op, const Tensor& dy, const QuantScale&) const override {
    return {by_row(op, dy), dy};
  }
  /// With the abs-max of what this rank has.
  Tensor weight_for_grad_input(OpContext& op, const Tensor& w) const override {
    const QuantScale scale = QuantScale::allocate(op.scratch);
    void* y = op.scratch.allocate(w.elements());
    const bool turn = op.kernels.float8_gemm_k_major;
    op.stream.device().zero(scale.amax, 4, op.stream);
    measure(op, w, {.amax = scale.amax, .non_finite = nullptr});
    cast_by_amax(op, w, DType::e4m3, scale, power_of_two(), turn ? nullptr : y, turn ? y : nullptr);
    return {y, DType::e4m3, turn ? Shape{w.shape[1], w.shape[0]} : w.shape, scale.inverse};
  }
};

}  // namespace

const RecipeEntry rowwise_entry{
    "rowwise",
    "one for each row or column along which a GEMM sums, so that every operand is cast twice; weights travel in bf16",
    make_recipe<RowwiseRecipe>};

const RecipeEntry rowwise_with_gw_hp_entry{"rowwise_with_gw_hp",
                                           "rowwise, with the GEMM of the weight's gradient in bf16 and one scale for "
                                           "the weight in the GEMM of the input's gradient",
                                           make_recipe<RowwiseWithGwHpRecipe>};

}  // namespace octet
