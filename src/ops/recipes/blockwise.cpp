#include "src/ops/recipes/float8_recipe.h"
#include "src/ops/recipes/recipe_list.h"

namespace octet {
namespace {

BlockwiseForm take_vectors(OpContext& op, const Tensor& x, std::int64_t kept, std::int64_t contracted) {
  return {.y = op.scratch.allocate(x.elements()),
          .inverse_scale = op.scratch.allocate<float>(scale_count(ScaleForm::vectors, kept, contracted))};
}

/// DeepSeek-V3's scaling (arXiv 2412.19437, section 3.3.2), as TransformerEngine's Float8BlockScaling has it: all
/// operands e4m3, inputs and output gradients with a scale for each 128 neighbours along the dimension that a GEMM
/// contracts, weights with one for each 128 x 128. Inputs and gradients are cast once for each dimension along which
/// they are contracted; a weight's blocks serve both.
///
/// Under tensor parallelism each rank casts what it has. No abs-max crosses ranks: a scale multiplies its own 128
/// products, wherever they are summed.
class BlockwiseRecipe final : public Float8Recipe {
 public:
  explicit BlockwiseRecipe(const Float8Config& config)
      : Float8Recipe(config, "128 values along which a GEMM sums, of weights 128 x 128, of their own abs-max", true) {}

  std::int64_t multiple() const override { return scale_block; }
  /// cuBLASLt has scales of vectors and blocks of 128 for Hopper alone; later GPUs scale blocks of 32.
  bool runs_on(int compute_capability) const override { return compute_capability == 90; }
  std::string_view gpus() const override { return "a Hopper (H100, H200), compute capability 9.0"; }
  /// Every 128 products are promoted to fp32 and scaled.
  bool may_sum_fast() const override { return false; }

  Tensor input_for_output(OpContext& op, const Tensor& x) const override {
    const BlockwiseForm rows = take_vectors(op, x, x.shape[0], x.shape[1]);
    quantize_vectors(op, x, rows, {});
    return by_row(x, rows);
  }
  Tensor input_for_grad_weight(OpContext& op, const Tensor& x) const override {
    const BlockwiseForm columns = take_vectors(op, x, x.shape[1], x.shape[0]);
    quantize_vectors(op, x, {}, columns);
    return by_column(op, x, columns);
  }
  GradOperand grad_output(OpContext& op, const Tensor& dy, const QuantScale&) const override {
    const BlockwiseForm rows = take_vectors(op, dy, dy.shape[0], dy.shape[1]);
    const BlockwiseForm columns = take_vectors(op, dy, dy.shape[1], dy.shape[0]);
    quantize_vectors(op, dy, rows, columns);
    return {by_row(dy, rows), by_column(op, dy, columns)};
  }

  Tensor weight_for_output(OpContext& op, const Tensor& w) const override {
    QuantizeBlocks args = blocks_of(w);
    args.y = op.scratch.allocate(w.elements());
    args.inverse_scale_by_row = take_scales(op, w.shape[0], w.shape[1]);
    op.kernels.quantize_blocks(op.stream, args);
    return {args.y, DType::e4m3, w.shape, args.inverse_scale_by_row, 0, ScaleForm::blocks};
  }
  Tensor weight_for_grad_input(OpContext& op, const Tensor& w) const override {
    const bool turn = op.kernels.float8_gemm_k_major;
    void* y = op.scratch.allocate(w.elements());
    QuantizeBlocks args = blocks_of(w);
    (turn ? args.y_transposed : args.y) = y;
    args.inverse_scale_by_column = take_scales(op, w.shape[1], w.shape[0]);
    op.kernels.quantize_blocks(op.stream, args);
    const Shape shape = turn ? Shape{w.shape[1], w.shape[0]} : w.shape;
    return {y, DType::e4m3, shape, args.inverse_scale_by_column, turn ? 0 : 1, ScaleForm::blocks};
  }

 private:
  static Tensor by_row(const Tensor& x, const BlockwiseForm& form) {
    return {form.y, DType::e4m3, x.shape, form.inverse_scale, 0, ScaleForm::vectors};
  }
  static Tensor by_column(const OpContext& op, const Tensor& x, const BlockwiseForm& form) {
    if (!op.kernels.float8_gemm_k_major)
      return {form.y, DType::e4m3, x.shape, form.inverse_scale, 1, ScaleForm::vectors};
    return {form.y, DType::e4m3, {x.shape[1], x.shape[0]}, form.inverse_scale, 0, ScaleForm::vectors};
  }
  static float* take_scales(OpContext& op, std::int64_t kept, std::int64_t contracted) {
    return op.scratch.allocate<float>(scale_count(ScaleForm::blocks, kept, contracted));
  }

  QuantizeBlocks blocks_of(const Tensor& w) const {
    return {.x = w.data,
            .from = w.dtype,
            .rows = w.shape[0],
            .columns = w.shape[1],
            .to = DType::e4m3,
            .power_of_two = power_of_two()};
  }
  void quantize_vectors(OpContext& op, const Tensor& x, const BlockwiseForm& rows, const BlockwiseForm& columns) const {
    op.kernels.quantize_vectors(op.stream, {.x = x.data,
                                            .from = x.dtype,
                                            .rows = x.shape[0],
                                            .columns = x.shape[1],
                                            .to = DType::e4m3,
                                            .power_of_two = power_of_two(),
                                            .by_row = rows,
                                            .by_column = columns,
                                            .column_transposed = op.kernels.float8_gemm_k_major});
  }
};

}  // namespace

const RecipeEntry blockwise_entry{
    "blockwise",
    "one for each 128 neighbours along which a GEMM sums, and for each 128 x 128 of a weight, as DeepSeek-V3; "
    "everything is a multiple of 128, weights travel in bf16, and of NVIDIA's GPUs it needs a Hopper",
    make_recipe<BlockwiseRecipe>};

}  // namespace octet
