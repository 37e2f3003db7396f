#include "kernels/blockwise.h"

#include <algorithm>
#include <bit>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/float8/scale.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

constexpr std::int64_t side = scale_block;

/// The codes of a block of 128 x 128, which are written a row of the transposed copy at a time.
template <typename To>
struct Block {
  To codes[side][side];

  void write_transposed(To* y, std::int64_t stride) const {
    To column[side];
    for (std::int64_t c = 0; c < side; ++c) {
      for (std::int64_t r = 0; r < side; ++r) column[r] = codes[r][c];
      std::copy(column, column + side, y + c * stride);
    }
  }
};

/// body(row, column) for each block, on all threads; each is read while it is in a core's own cache.
template <typename F>
void for_tiles(std::int64_t rows, std::int64_t columns, F&& body) {
  const std::int64_t across = columns / side, tiles = rows / side * across;
#pragma omp parallel for schedule(static) if (tiles > 1)
  for (std::int64_t t = 0; t < tiles; ++t) body(t / across * side, t % across * side);
}

template <typename To, typename From>
void cast_run(const From* __restrict x, To* __restrict y, float scale) {
#pragma omp simd
  for (std::int64_t c = 0; c < side; ++c) store(y[c], static_cast<float>(x[c]) * scale);
}

template <typename To, typename From>
void cast_rows(const QuantizeVectors& args, std::int64_t row, std::int64_t column) {
  const From* x = static_cast<const From*>(args.x) + row * args.columns + column;
  To* y = static_cast<To*>(args.by_row.y) + row * args.columns + column;
  float* inverse = args.by_row.inverse_scale + scale_index(ScaleForm::vectors, args.rows, args.columns, row, column);
  for (std::int64_t r = 0; r < side; ++r, x += args.columns, y += args.columns) {
    StatsFold fold;
    fold.add(x, side);
    const float scale = scale_of(fold.amax(), args.to, args.power_of_two);
    inverse[r] = 1.0f / scale;
    cast_run(x, y, scale);
  }
}

template <typename From>
void scale_columns(const QuantizeVectors& args, const From* x, float* inverse, float* scale) {
  std::uint32_t max_bits[side] = {};
  for (std::int64_t r = 0; r < side; ++r, x += args.columns) {
#pragma omp simd
    for (std::int64_t c = 0; c < side; ++c) {
      const std::uint32_t m = StatsFold::magnitude(static_cast<float>(x[c]));
      max_bits[c] = m > max_bits[c] ? m : max_bits[c];
    }
  }
  for (std::int64_t c = 0; c < side; ++c) {
    scale[c] = scale_of(std::bit_cast<float>(max_bits[c]), args.to, args.power_of_two);
    inverse[c] = 1.0f / scale[c];
  }
}

template <typename To, typename From>
void cast_columns(const QuantizeVectors& args, std::int64_t row, std::int64_t column) {
  const From* x = static_cast<const From*>(args.x) + row * args.columns + column;
  auto* y = static_cast<To*>(args.by_column.y);
  float scale[side];
  scale_columns(args, x,
                args.by_column.inverse_scale + scale_index(ScaleForm::vectors, args.columns, args.rows, column, row),
                scale);
  Block<To> block;
  for (std::int64_t r = 0; r < side; ++r, x += args.columns) {
    To* to = args.column_transposed ? block.codes[r] : y + (row + r) * args.columns + column;
#pragma omp simd
    for (std::int64_t c = 0; c < side; ++c) store(to[c], static_cast<float>(x[c]) * scale[c]);
  }
  if (args.column_transposed) block.write_transposed(y + column * args.rows + row, args.rows);
}

template <typename To, typename From>
void quantize(const QuantizeVectors& args) {
  for_tiles(args.rows, args.columns, [&](std::int64_t row, std::int64_t column) {
    if (args.by_row.wanted()) cast_rows<To, From>(args, row, column);
    if (args.by_column.wanted()) cast_columns<To, From>(args, row, column);
  });
}

template <typename To, typename From>
void quantize(const QuantizeBlocks& args) {
  auto* y = static_cast<To*>(args.y);
  auto* transposed = static_cast<To*>(args.y_transposed);
  for_tiles(args.rows, args.columns, [&](std::int64_t row, std::int64_t column) {
    const From* x = static_cast<const From*>(args.x) + row * args.columns + column;
    StatsFold fold;
    for (std::int64_t r = 0; r < side; ++r) fold.add(x + r * args.columns, side);
    const float scale = scale_of(fold.amax(), args.to, args.power_of_two);
    const auto publish = [&](float* to, std::int64_t kept, std::int64_t contracted, std::int64_t i, std::int64_t j) {
      if (to != nullptr) to[scale_index(ScaleForm::blocks, kept, contracted, i, j)] = 1.0f / scale;
    };
    publish(args.inverse_scale_by_row, args.rows, args.columns, row, column);
    publish(args.inverse_scale_by_column, args.columns, args.rows, column, row);
    Block<To> block;
    for (std::int64_t r = 0; r < side; ++r) {
      cast_run(x + r * args.columns, block.codes[r], scale);
      if (y != nullptr) std::copy(block.codes[r], block.codes[r] + side, y + (row + r) * args.columns + column);
    }
    if (transposed != nullptr) block.write_transposed(transposed + column * args.rows + row, args.rows);
  });
}

/// Zeros behind the scales of each block of the kept dimension.
void clear_padding(float* inverse, std::int64_t kept, std::int64_t contracted) {
  if (inverse == nullptr) return;
  const std::int64_t stride = block_scale_stride(contracted), used = scale_blocks(contracted);
  for (std::int64_t i = 0; i < scale_blocks(kept); ++i) {
    std::fill(inverse + i * stride + used, inverse + (i + 1) * stride, 0.0f);
  }
}

template <typename Args>
void dispatch(const Args& args) {
  dispatch_storage(args.from, [&]<typename From>(From) {
    args.to == DType::e4m3 ? quantize<e4m3, From>(args) : quantize<e5m2, From>(args);
  });
}

}  // namespace

void quantize_vectors(Stream&, const QuantizeVectors& args) {
  check_operands(args);
  dispatch(args);
}

void quantize_blocks(Stream&, const QuantizeBlocks& args) {
  check_operands(args);
  clear_padding(args.inverse_scale_by_row, args.rows, args.columns);
  clear_padding(args.inverse_scale_by_column, args.columns, args.rows);
  dispatch(args);
}

}  // namespace octet::cpu
