#include "src/model/activations.h"

namespace octet {
namespace {

/// [rows of this rank, columns] from the arena, lying in the place of all tokens when that is kept.
Tensor take_rows(Arena& arena, DType dtype, const BatchShape& shape, std::int64_t columns) {
  if (!shape.keep_gathered) return take(arena, dtype, shape.rows(), columns);
  return take(arena, dtype, shape.tokens(), columns).rows(shape.part.index * shape.rows(), shape.rows());
}

/// The input of a group, with space for the forms that its linears read in backward, each form in an arena. `scale`
/// gives that of the input's cast.
template <typename Scale>
LinearInput take_input(Arena& high, Arena& quantized, const LinearGroup& group, const BatchShape& shape, bool gathered,
                       std::int64_t columns, bool transposed, Scale&& scale, bool keep_high = false) {
  const auto place = [&](Arena& arena, DType dtype) {
    return gathered ? take_rows(arena, dtype, shape, columns) : take(arena, dtype, shape.tokens(), columns);
  };
  LinearInput x;
  x.keep_high = keep_high || group.reads_high();
  x.keep_gathered = gathered && shape.keep_gathered;
  const std::int64_t rows = gathered ? shape.rows() : shape.tokens();
  x.high = x.keep_high ? place(high, shape.storage) : Tensor{nullptr, shape.storage, {rows, columns}, nullptr};
  if (group.casts_first()) {
    if (transposed && !(gathered && shape.part.count > 1)) {
      x.quantized = {nullptr, Recipe::input_format, {rows, columns}, nullptr};
      x.transposed = take(quantized, Recipe::input_format, columns, rows);
    } else {
      x.quantized = place(quantized, Recipe::input_format);
    }
    x.scale = scale();
  }
  return x;
}

}  // namespace

Tensor take(Arena& arena, DType dtype, std::int64_t rows, std::int64_t columns) {
  return {arena.allocate(rows * columns * size_of(dtype)), dtype, {rows, columns}, nullptr};
}

BlockActivations BlockActivations::allocate(const ActivationPlaces& places, const ModelConfig& model,
                                            const BatchShape& shape, const BlockLinears& linears,
                                            const BlockScales& scales) {
  using enum Activation;
  const std::int64_t n = shape.tokens(), rows = shape.rows();
  const DType t = shape.storage;
  const auto scale = [&](BlockInput i) { return [&, i] { return scales.input(i, places.kept); }; };
  // A GEMM that runs again reads the input as forward did: what is kept for it is not transposed.
  const auto transposed = [&](Activation of, ActivationSet outputs) {
    return places.keep_transposed && !(places.keep.has(of) && (~places.keep).has_any(outputs));
  };
  const auto input = [&](Activation a, BlockInput number, const LinearGroup& group, bool gathered, std::int64_t columns,
                         ActivationSet outputs) {
    return take_input(places.of(a), places.of(a), group, shape, gathered, columns, transposed(a, outputs),
                      scale(number));
  };
  BlockActivations a;
  // First in their arenas: a block reads its predecessor's h_middle while it makes what comes after it.
  a.h = take(places.kept, t, rows, model.dim);
  a.h_middle = take(places.of(residual), t, rows, model.dim);
  a.inverse_rms_attention = places.of(attention_input).allocate<float>(rows);
  a.x_attention =
      input(attention_input, input_of_qkv, linears.qkv, true, model.dim, {Activation::q, Activation::k, Activation::v});
  a.q = take(places.of(Activation::q), t, n, model.q_dim());
  a.k = take(places.of(Activation::k), t, n, model.kv_dim());
  a.v = take(places.of(Activation::v), t, n, model.kv_dim());
  a.log_sum_exp = places.of(attention_output).allocate<float>(n * model.heads);
  a.x_wo = take_input(places.of(attention_output), places.of(attention_cast), linears.wo, shape, false, model.q_dim(),
                      transposed(attention_cast, {residual}), scale(input_of_wo),
                      true);  // attention's backward reads its output
  a.inverse_rms_ffn = places.of(ffn_input).allocate<float>(rows);
  a.x_ffn = input(ffn_input, input_of_w1_w3, linears.w1_w3, true, model.dim, {Activation::gate, Activation::up});
  a.gate = take(places.of(Activation::gate), t, n, model.ffn_dim);
  a.up = take(places.of(Activation::up), t, n, model.ffn_dim);
  a.x_w2 = input(ffn_product, input_of_w2, linears.w2, false, model.ffn_dim, {});
  return a;
}

}  // namespace octet
