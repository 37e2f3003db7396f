#include "src/model/activations.h"

#include <initializer_list>

namespace octet {
namespace {

/// [rows of this rank, columns] from the arena, lying in the place of all tokens when that is kept.
Tensor take_rows(Arena& arena, DType dtype, const BatchShape& shape, std::int64_t columns) {
  if (!shape.keep_gathered) return take(arena, dtype, shape.rows(), columns);
  return take(arena, dtype, shape.tokens(), columns).rows(shape.part.index * shape.rows(), shape.rows());
}

/// Space for the forms of an input that the linears of its group read in backward, each form in an arena.
struct InputPlaces {
  Arena& high;
  Arena& quantized;
};

/// `scale` gives that of the input's cast.
template <typename Scale>
LinearInput take_input(const InputPlaces& places, const BlockRecipes& recipes, std::initializer_list<BlockLinear> group,
                       const BatchShape& shape, std::int64_t columns, Scale&& scale, bool keep_high = false) {
  const bool gathered = !is_row_parallel(*group.begin());
  const auto place = [&](Arena& arena, DType dtype) {
    return gathered ? take_rows(arena, dtype, shape, columns) : take(arena, dtype, shape.tokens(), columns);
  };
  LinearInput x;
  x.keep_high = keep_high;
  x.keep_all = gathered && shape.keep_gathered;
  for (const BlockLinear l : group) {
    const LinearRecipe& recipe = recipes[static_cast<std::size_t>(l)];
    (recipe.float8 && !recipe.rowwise() ? x.any_float8 : x.keep_high) = true;
    x.any_rowwise |= recipe.rowwise();
    x.any_rowwise_grad_weight |= recipe.rowwise() && recipe.float8_grad_weight();
  }
  const std::int64_t rows = gathered ? shape.rows() : shape.tokens();
  x.high = x.keep_high ? place(places.high, shape.storage) : Tensor{nullptr, shape.storage, {rows, columns}, nullptr};
  if (x.any_float8) {
    x.quantized = place(places.quantized, LinearRecipe::input_format);
    x.scale = scale();
  }
  return x;
}

}  // namespace

Tensor take(Arena& arena, DType dtype, std::int64_t rows, std::int64_t columns) {
  return {arena.allocate(rows * columns * size_of(dtype)), dtype, {rows, columns}, nullptr};
}

BlockActivations BlockActivations::allocate(const ActivationPlaces& places, const ModelConfig& model,
                                            const BatchShape& shape, const BlockRecipes& recipes,
                                            const BlockScales& scales) {
  using enum Activation;
  const std::int64_t n = shape.tokens(), rows = shape.rows();
  const DType t = shape.storage;
  const auto scale = [&](BlockInput i) { return [&, i] { return scales.input(i, places.kept); }; };
  const auto input = [&](Activation a, BlockInput number, std::initializer_list<BlockLinear> group,
                         std::int64_t columns) {
    return take_input({places.of(a), places.of(a)}, recipes, group, shape, columns, scale(number));
  };
  BlockActivations a;
  // First in their arenas: a block reads its predecessor's h_middle while it makes what comes after it.
  a.h = take(places.kept, t, rows, model.dim);
  a.h_middle = take(places.of(residual), t, rows, model.dim);
  a.inverse_rms_attention = places.of(attention_input).allocate<float>(rows);
  a.x_attention = input(attention_input, input_of_qkv, {wq, wk, wv}, model.dim);
  a.q = take(places.of(Activation::q), t, n, model.q_dim());
  a.k = take(places.of(Activation::k), t, n, model.kv_dim());
  a.v = take(places.of(Activation::v), t, n, model.kv_dim());
  a.log_sum_exp = places.of(attention_output).allocate<float>(n * model.heads);
  a.x_wo = take_input({places.of(attention_output), places.of(attention_cast)}, recipes, {wo}, shape, model.q_dim(),
                      scale(input_of_wo), true);  // attention's backward reads its output
  a.inverse_rms_ffn = places.of(ffn_input).allocate<float>(rows);
  a.x_ffn = input(ffn_input, input_of_w1_w3, {w1, w3}, model.dim);
  a.gate = take(places.of(Activation::gate), t, n, model.ffn_dim);
  a.up = take(places.of(Activation::up), t, n, model.ffn_dim);
  a.x_w2 = input(ffn_product, input_of_w2, {w2}, model.ffn_dim);
  return a;
}

}  // namespace octet
