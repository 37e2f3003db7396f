#include "src/model/activations.h"

#include <initializer_list>

namespace octet {
namespace {

/// Space for the forms of an input that the linears of its group read in backward.
LinearInput take_input(Arena& arena, const BlockRecipes& recipes, std::initializer_list<BlockLinear> group,
                       DType storage, std::int64_t rows, std::int64_t columns, bool keep_high = false) {
  LinearInput x;
  x.keep_high = keep_high;
  for (const BlockLinear l : group) {
    (recipes[static_cast<std::size_t>(l)].float8 ? x.any_float8 : x.keep_high) = true;
  }
  x.high = x.keep_high ? take(arena, storage, rows, columns) : Tensor{nullptr, storage, {rows, columns}, nullptr};
  if (x.any_float8) {
    x.quantized = take(arena, LinearRecipe::input_format, rows, columns);
    x.scale = QuantScale::allocate(arena);
  }
  return x;
}

}  // namespace

Tensor take(Arena& arena, DType dtype, std::int64_t rows, std::int64_t columns) {
  return {arena.allocate(rows * columns * size_of(dtype)), dtype, {rows, columns}, nullptr};
}

BlockActivations BlockActivations::allocate(Arena& arena, const ModelConfig& model, const BatchShape& shape,
                                            const BlockRecipes& recipes) {
  const std::int64_t n = shape.tokens();
  const DType t = shape.storage;
  BlockActivations a;
  a.h = take(arena, t, n, model.dim);
  a.inverse_rms_attention = arena.allocate<float>(n);
  a.x_attention = take_input(arena, recipes, {wq, wk, wv}, t, n, model.dim);
  a.q = take(arena, t, n, model.q_dim());
  a.k = take(arena, t, n, model.kv_dim());
  a.v = take(arena, t, n, model.kv_dim());
  a.log_sum_exp = arena.allocate<float>(n * model.heads);
  a.x_wo = take_input(arena, recipes, {wo}, t, n, model.q_dim(), true);  // attention's backward reads its output
  a.h_middle = take(arena, t, n, model.dim);
  a.inverse_rms_ffn = arena.allocate<float>(n);
  a.x_ffn = take_input(arena, recipes, {w1, w3}, t, n, model.dim);
  a.gate = take(arena, t, n, model.ffn_dim);
  a.up = take(arena, t, n, model.ffn_dim);
  a.x_w2 = take_input(arena, recipes, {w2}, t, n, model.ffn_dim);
  return a;
}

}  // namespace octet
