#include "kernels/cast.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/float8/scale.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

template <typename To, typename From>
void cast_loop(const From* __restrict x, To* __restrict y, std::int64_t n, float scale) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(y[i], static_cast<float>(x[i]) * scale);
}

constexpr std::int64_t band = 64;  // columns of which a row's part is made at once

/// At most `band` columns of a row of what is cast: of x itself, or formed in `place` (CastToFloat8::row_factor).
template <typename From>
const From* row_part(const CastToFloat8& args, std::int64_t row, std::int64_t begin, std::int64_t end, From* place) {
  const auto* x = static_cast<const From*>(args.x) + row * args.columns + begin;
  if (args.row_factor == nullptr) return x;
  scale_row(x, static_cast<const From*>(args.column_factor) + begin, args.row_factor[row], place, end - begin);
  return place;
}

/// By rows, for what is formed of row and column.
template <typename To, typename From>
void cast_rows(const CastToFloat8& args, float scale) {
  auto* y = static_cast<To*>(args.y);
  for_blocks(args.n / args.columns, 1, [&](std::int64_t row, std::int64_t) {
    From formed[band];
    for (std::int64_t begin = 0; begin < args.columns; begin += band) {
      const std::int64_t end = std::min(begin + band, args.columns);
      cast_loop(row_part(args, row, begin, end, formed), y + row * args.columns + begin, end - begin, scale);
    }
  });
}

/// y_transposed alone, by bands of columns: a row's part of a band is cast and then laid across the rows of y.
template <typename To, typename From>
void cast_transposed_only(const CastToFloat8& args, float scale) {
  auto* y = static_cast<To*>(args.y_transposed);
  const std::int64_t rows = args.n / args.columns;
  for_blocks(args.columns, band, [&](std::int64_t begin, std::int64_t end) {
    To part[band];
    From formed[band];
    for (std::int64_t r = 0; r < rows; ++r) {
      cast_loop(row_part(args, r, begin, end, formed), part, end - begin, scale);
      for (std::int64_t c = begin; c < end; ++c) y[c * rows + r] = part[c - begin];
    }
  });
}

template <typename To, typename From>
void cast_all(const CastToFloat8& args, float scale) {
  if (args.y == nullptr && args.y_transposed != nullptr) return cast_transposed_only<To, From>(args, scale);
  if (args.row_factor != nullptr) return cast_rows<To, From>(args, scale);
  const auto* x = static_cast<const From*>(args.x);
  auto* y = static_cast<To*>(args.y);
  const auto cast = [=](std::int64_t begin, std::int64_t end) { cast_loop(x + begin, y + begin, end - begin, scale); };
  for_blocks(args.n, conversion_block, cast, serial_conversion_blocks);
}

template <typename To, typename From>
void convert_all(const Convert& args) {
  const auto* x = static_cast<const From*>(args.x);
  auto* y = static_cast<To*>(args.y);
  const auto convert = [=](std::int64_t begin, std::int64_t end) { convert_loop(x + begin, y + begin, end - begin); };
  for_blocks(args.n, conversion_block, convert, serial_conversion_blocks);
}

}  // namespace

void compute_scales(Stream&, const ComputeScales& args) {
  for (std::int64_t i = 0; i < args.n; ++i) {
    args.scale[i] = scale_of(args.amax[i], args.format, args.power_of_two);
    args.inverse_scale[i * inverse_scale_stride] = 1.0f / args.scale[i];
  }
}

namespace {

float scale_for(const CastToFloat8& args) {
  if (args.amax == nullptr) return *args.scale;
  const float scale = scale_of(*args.amax, args.to, args.power_of_two);
  *args.scale_out = scale;
  *args.inverse_scale_out = 1.0f / scale;
  return scale;
}

}  // namespace

void cast_to_float8(Stream& stream, const CastToFloat8& args) {
  stats(stream, {.x = args.x, .dtype = args.from, .n = args.n, .out = args.stats});
  const float scale = scale_for(args);
  dispatch_storage(args.from, [&]<typename From>(From) {
    args.to == DType::e4m3 ? cast_all<e4m3, From>(args, scale) : cast_all<e5m2, From>(args, scale);
  });
  if (args.y != nullptr && args.y_transposed != nullptr) {
    transpose_float8(stream,
                     {.x = args.y, .y = args.y_transposed, .rows = args.n / args.columns, .columns = args.columns});
  }
}

namespace {

template <typename From>
void cast_part_of(const Float8Out& out, const From* x, std::int64_t at, std::int64_t n) {
  if (!out.wanted()) return;
  if (out.format == DType::e4m3) return cast_loop(x, static_cast<e4m3*>(out.y) + at, n, *out.scale);
  cast_loop(x, static_cast<e5m2*>(out.y) + at, n, *out.scale);
}

}  // namespace

void cast_part(const Float8Out& out, const float* x, std::int64_t at, std::int64_t n) {
  cast_part_of(out, x, at, n);
}

void cast_part(const Float8Out& out, const bf16* x, std::int64_t at, std::int64_t n) {
  cast_part_of(out, x, at, n);
}

void transpose_parts(Stream& stream, const Float8Out& out, std::int64_t n, std::int64_t columns) {
  if (!out.wanted() || out.y_transposed == nullptr) return;
  transpose_float8(stream, {.x = out.y, .y = out.y_transposed, .rows = n / columns, .columns = columns});
}

void transpose_float8(Stream&, const TransposeFloat8& args) {
  const auto* x = static_cast<const std::uint8_t*>(args.x);
  auto* y = static_cast<std::uint8_t*>(args.y);
  for_blocks(args.columns, 64, [&](std::int64_t begin, std::int64_t end) {  // 64: a cache line of x
    for (std::int64_t r = 0; r < args.rows; ++r) {
      for (std::int64_t c = begin; c < end; ++c) y[c * args.rows + r] = x[r * args.columns + c];
    }
  });
}

void convert(Stream&, const Convert& args) {
  dispatch_storage(args.from, [&]<typename From>(From) {
    args.to == DType::f32 ? convert_all<float, From>(args) : convert_all<bf16, From>(args);
  });
}

}  // namespace octet::cpu
