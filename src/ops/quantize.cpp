#include "src/ops/quantize.h"

namespace octet {

QuantScale QuantScale::allocate(Arena& arena) {
  static_assert(Arena::alignment % gemm_scale_alignment == 0);
  auto* inverse = arena.allocate<float>(3);  // first: it begins where the arena's alignment puts it
  return inverse == nullptr ? QuantScale{} : QuantScale{inverse + 1, inverse + 2, inverse};
}

namespace {

CastToFloat8 cast_of(const CastSource& source, DType format, const QuantScale& scale, void* storage, void* transposed) {
  const Tensor& x = source.x;
  return {.x = x.data,
          .from = x.dtype,
          .y = storage,
          .to = format,
          .n = x.elements(),
          .scale = scale.scale,
          .y_transposed = transposed,
          .columns = x.shape.row_elements(),
          .row_factor = source.inverse_rms,
          .column_factor = source.weight.data};
}

}  // namespace

Tensor quantize(OpContext& op, const CastSource& x, DType format, const QuantScale& scale, bool power_of_two,
                void* storage, void* transposed, const StatsOut& stats) {
  if (scale.known) return cast(op, x, format, scale, storage, transposed, stats);
  if (stats.wanted()) measure(op, x.x, stats);
  op.exchange.reduce_max(scale.amax, 1);
  return cast_by_amax(op, x, format, scale, power_of_two, storage, transposed);
}

QuantScale known_by_amax(OpContext& op, QuantScale scale, DType format, bool power_of_two) {
  op.exchange.reduce_max(scale.amax, 1);
  op.kernels.compute_scales(op.stream, {.amax = scale.amax,
                                        .scale = scale.scale,
                                        .inverse_scale = scale.inverse,
                                        .n = 1,
                                        .format = format,
                                        .power_of_two = power_of_two});
  scale.known = true;
  return scale;
}

Tensor cast_by_amax(OpContext& op, const CastSource& x, DType format, const QuantScale& scale, bool power_of_two,
                    void* storage, void* transposed) {
  CastToFloat8 args = cast_of(x, format, scale, storage, transposed);
  args.amax = scale.amax;
  args.power_of_two = power_of_two;
  args.scale_out = scale.scale;
  args.inverse_scale_out = scale.inverse;
  op.kernels.cast_to_float8(op.stream, args);
  return {storage, format, x.x.shape, scale.inverse};
}

Tensor cast(OpContext& op, const CastSource& x, DType format, const QuantScale& scale, void* storage, void* transposed,
            const StatsOut& stats) {
  CastToFloat8 args = cast_of(x, format, scale, storage, transposed);
  args.stats = stats;
  op.kernels.cast_to_float8(op.stream, args);
  return {storage, format, x.x.shape, scale.inverse};
}

Tensor transpose(OpContext& op, const Tensor& x) {
  return transpose(op, x, op.scratch.allocate(x.bytes()));
}

Tensor transpose(OpContext& op, const Tensor& x, void* storage) {
  const Tensor y{storage, x.dtype, {x.shape[1], x.shape[0]}, x.inverse_scale};
  op.kernels.transpose_float8(op.stream, {.x = x.data, .y = y.data, .rows = x.shape[0], .columns = x.shape[1]});
  return y;
}

void measure(OpContext& op, const Tensor& x, const StatsOut& out) {
  op.kernels.stats(op.stream, {.x = x.data, .dtype = x.dtype, .n = x.elements(), .out = out});
}

}  // namespace octet
