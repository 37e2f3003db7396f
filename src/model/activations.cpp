#include "src/model/activations.h"

#include <initializer_list>

namespace octet {
namespace {

/// [rows of this rank, columns] from the arena, lying in the place of all tokens when that is kept.
Tensor take_rows(Arena& arena, DType dtype, const BatchShape& shape, std::int64_t columns) {
  if (!shape.keep_gathered) return take(arena, dtype, shape.rows(), columns);
  return take(arena, dtype, shape.tokens(), columns).rows(shape.part.index * shape.rows(), shape.rows());
}

/// Space for the forms of an input that the linears of its group read in backward.
LinearInput take_input(Arena& arena, const BlockRecipes& recipes, std::initializer_list<BlockLinear> group,
                       const BatchShape& shape, std::int64_t columns, bool keep_high = false) {
  const bool gathered = !is_row_parallel(*group.begin());
  const auto place = [&](DType dtype) {
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
  x.high = x.keep_high ? place(shape.storage) : Tensor{nullptr, shape.storage, {rows, columns}, nullptr};
  if (x.any_float8) {
    x.quantized = place(LinearRecipe::input_format);
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
  const std::int64_t n = shape.tokens(), rows = shape.rows();
  const DType t = shape.storage;
  BlockActivations a;
  a.h = take(arena, t, rows, model.dim);
  a.inverse_rms_attention = arena.allocate<float>(rows);
  a.x_attention = take_input(arena, recipes, {wq, wk, wv}, shape, model.dim);
  a.q = take(arena, t, n, model.q_dim());
  a.k = take(arena, t, n, model.kv_dim());
  a.v = take(arena, t, n, model.kv_dim());
  a.log_sum_exp = arena.allocate<float>(n * model.heads);
  a.x_wo = take_input(arena, recipes, {wo}, shape, model.q_dim(), true);  // attention's backward reads its output
  a.h_middle = take(arena, t, rows, model.dim);
  a.inverse_rms_ffn = arena.allocate<float>(rows);
  a.x_ffn = take_input(arena, recipes, {w1, w3}, shape, model.dim);
  a.gate = take(arena, t, n, model.ffn_dim);
  a.up = take(arena, t, n, model.ffn_dim);
  a.x_w2 = take_input(arena, recipes, {w2}, shape, model.ffn_dim);
  return a;
}

}  // namespace octet
