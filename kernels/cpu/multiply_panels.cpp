#include "kernels/cpu/multiply_panels.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/transpose_eight.h"

namespace octet::cpu {
namespace panels {
namespace {

using attention::block_rows;

constexpr std::int64_t width = attention::block_vectors * attention::lanes;  ///< of a panel: rows of the weight
/// A block of the weight, `block_columns` of its rows by `block_depth` terms of their sums, is packed once and stays in
/// the second-level cache (256 KiB) while all rows of A pass, of which some at a time stay in the first.
constexpr std::int64_t block_columns = 128, block_depth = 512;
static_assert(block_columns % width == 0 && width % 8 == 0);

struct alignas(64) Scratch {
  float packed[block_columns * block_depth];  ///< [panel][term, column], zeros behind the last column
  float tile[block_rows * width];             ///< of C, where that has no whole vectors
};

/// A part of the product: rows [0, m) by `columns` by `depth` terms.
struct Block {
  const float *a, *b;
  std::int64_t a_stride, b_stride;
  float* c;
  std::int64_t c_stride;
  std::int64_t m, columns, depth;
  bool add;
};

void pack_panel(const float* b, std::int64_t stride, std::int64_t columns, std::int64_t depth, float* to) {
  std::int64_t column = 0;
  for (; column + 8 <= columns; column += 8) {
    const float* from = b + column * stride;
    std::int64_t i = 0;
    for (; i + 8 <= depth; i += 8) transpose_eight(from + i, stride, to + i * width + column, width);
    for (; i < depth; ++i) {
      for (std::int64_t j = 0; j < 8; ++j) to[i * width + column + j] = from[j * stride + i];
    }
  }
  for (; column < width; ++column) {
    for (std::int64_t i = 0; i < depth; ++i) to[i * width + column] = column < columns ? b[column * stride + i] : 0.0f;
  }
}

template <int R>
void multiply_rows(const Block& x, std::int64_t row, Scratch& t) {
  constexpr int vectors = attention::block_vectors;
  const float* a = x.a + row * x.a_stride;
  for (std::int64_t column = 0; column < x.columns; column += width) {
    const float* b = t.packed + column * x.depth;
    float* c = x.c + row * x.c_stride + column;
    const std::int64_t valid = std::min(width, x.columns - column);
    const bool whole = valid == width && x.c_stride % attention::lanes == 0 &&
                       reinterpret_cast<std::uintptr_t>(c) % sizeof(attention::Vector) == 0;
    if (whole) {
      attention::product_block<R, vectors, false>(a, x.a_stride, b, width, c, x.c_stride, x.depth, x.add);
      continue;
    }
    for (std::int64_t i = 0; x.add && i < R; ++i) std::copy_n(c + i * x.c_stride, valid, t.tile + i * width);
    attention::product_block<R, vectors, false>(a, x.a_stride, b, width, t.tile, width, x.depth, x.add);
    for (std::int64_t i = 0; i < R; ++i) std::copy_n(t.tile + i * width, valid, c + i * x.c_stride);
  }
}

void multiply_block(const Block& x, Scratch& t) {
  for (std::int64_t column = 0; column < x.columns; column += width) {
    pack_panel(x.b + column * x.b_stride, x.b_stride, std::min(width, x.columns - column), x.depth,
               t.packed + column * x.depth);
  }
  std::int64_t row = 0;
  for (; row + block_rows <= x.m; row += block_rows) multiply_rows<block_rows>(x, row, t);
  for (; row + 2 <= x.m; row += 2) multiply_rows<2>(x, row, t);
  if (row < x.m) multiply_rows<1>(x, row, t);
}

/// Columns of a block: fewer where there would not be one for each thread.
std::int64_t columns_for(std::int64_t n, std::int64_t threads) {
  const std::int64_t panels = (n + width - 1) / width;
  return std::clamp((panels + threads - 1) / threads * width, width, block_columns);
}

}  // namespace
}  // namespace panels

bool could_be_panels(const Multiply& args) {
  return args.input == DType::f32 && args.c_dtype == DType::f32 && !args.a.transposed && args.b.transposed;
}

bool panels_are_faster(const CpuFeatures& cpu) {
  return attention::lanes == 8 && !cpu.avx512;
}

void multiply_panels(const Multiply& args) {
  using namespace panels;
  const std::int64_t columns = columns_for(args.n, omp_get_max_threads()), blocks = (args.n + columns - 1) / columns;
#pragma omp parallel if (blocks > 1)
  {
    thread_local const auto scratch = std::make_unique_for_overwrite<Scratch>();  // kept: new pages take a while
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t column = block * columns;
      for (std::int64_t depth = 0; depth < args.k; depth += block_depth) {
        multiply_block({.a = static_cast<const float*>(args.a.data) + depth,
                        .b = static_cast<const float*>(args.b.data) + column * args.b.stride + depth,
                        .a_stride = args.a.stride,
                        .b_stride = args.b.stride,
                        .c = static_cast<float*>(args.c) + column,
                        .c_stride = args.c_stride,
                        .m = args.m,
                        .columns = std::min(columns, args.n - column),
                        .depth = std::min(block_depth, args.k - depth),
                        .add = depth > 0 || args.beta != 0.0f},
                       *scratch);
      }
    }
  }
}

}  // namespace octet::cpu
