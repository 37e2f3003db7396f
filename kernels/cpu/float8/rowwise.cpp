#include "kernels/rowwise.h"

#include <bit>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/float8/scale.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

/// Columns that a thread takes at a time: two cache lines of bf16 a row. All rows of a band stay in a core's own cache
/// between the pass that measures and the pass that casts.
constexpr std::int64_t band = 64;

/// A row is measured and cast while it is in the cache.
template <typename To, typename From>
void cast_rows(const QuantizeRowwise& args) {
  const auto* x = static_cast<const From*>(args.x);
  auto* y = static_cast<To*>(args.by_row.y);
  const std::int64_t columns = args.columns;
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const From* __restrict from = x + r * columns;
    To* __restrict to = y + r * columns;
    StatsFold fold;
    fold.add(from, columns);
    const float scale = scale_of(fold.amax(), args.to, args.power_of_two);
    args.by_row.scale[r] = scale;
    args.by_row.inverse_scale[r] = 1.0f / scale;
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) store(to[c], static_cast<float>(from[c]) * scale);
  }
}

/// Scales of columns [begin, begin + width).
template <typename From>
void scale_columns(const QuantizeRowwise& args, std::int64_t begin, std::int64_t width, float* scale) {
  const From* x = static_cast<const From*>(args.x) + begin;
  std::uint32_t max_bits[band] = {};
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const From* __restrict from = x + r * args.columns;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const std::uint32_t m = StatsFold::magnitude(static_cast<float>(from[c]));
      max_bits[c] = m > max_bits[c] ? m : max_bits[c];
    }
  }
  for (std::int64_t c = 0; c < width; ++c) {
    scale[c] = scale_of(std::bit_cast<float>(max_bits[c]), args.to, args.power_of_two);
    args.by_column.scale[begin + c] = scale[c];
    args.by_column.inverse_scale[begin + c] = 1.0f / scale[c];
  }
}

template <typename To, typename From>
void cast_columns(const QuantizeRowwise& args) {
  const auto* x = static_cast<const From*>(args.x);
  auto* y = static_cast<To*>(args.by_column.y);
  for_blocks(args.columns, band, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t width = end - begin;
    float scale[band];
    scale_columns<From>(args, begin, width, scale);
    To part[band];
    for (std::int64_t r = 0; r < args.rows; ++r) {
      const From* __restrict from = x + r * args.columns + begin;
      To* __restrict to = args.column_transposed ? part : y + r * args.columns + begin;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) store(to[c], static_cast<float>(from[c]) * scale[c]);
      if (!args.column_transposed) continue;
      for (std::int64_t c = 0; c < width; ++c) y[(begin + c) * args.rows + r] = part[c];
    }
  });
}

template <typename To, typename From>
void quantize(const QuantizeRowwise& args) {
  if (args.by_row.wanted()) cast_rows<To, From>(args);
  if (args.by_column.wanted()) cast_columns<To, From>(args);
}

}  // namespace

void quantize_rowwise(Stream&, const QuantizeRowwise& args) {
  dispatch_storage(args.from, [&]<typename From>(From) {
    args.to == DType::e4m3 ? quantize<e4m3, From>(args) : quantize<e5m2, From>(args);
  });
}

}  // namespace octet::cpu
