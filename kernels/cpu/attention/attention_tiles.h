#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parts/registers.h"

/// What attention forward and backward share: exp2 and products of small fp32 tiles.
///
/// Tiles are kept transposed, keys as rows and queries as columns: a vector then holds one key against several queries,
/// so that maxima, sums and masks of the softmax work lane by lane, and K and V are read as they are stored.
/// Files that include this are compiled with -ffp-contract=fast (kernels/room.cmake).
namespace octet::cpu::attention {

using registers::broadcast;
using registers::Integers;
using registers::lanes;
using registers::load;
using registers::max;
using registers::store;
using registers::Vector;

/// How many rows and vectors of a product's result stay in registers.
#if defined(__AVX512F__)
inline constexpr int block_rows = 6, block_vectors = 4;
#elif defined(__AVX__)
inline constexpr int block_rows = 6, block_vectors = 2;
#else
inline constexpr int block_rows = 4, block_vectors = 2;
#endif

inline constexpr std::int64_t tile = 64;  ///< queries and keys of a tile
inline constexpr std::int64_t max_head_dim = 256;
inline constexpr float log2_e = 1.44269504088896341f;
inline constexpr float ln_2 = 0.693147180559945309f;

/// 2^x for x <= 0 (right up to 126), relative error below 2e-7; 0 from -127 down; NaN stays NaN.
inline Vector exp2(Vector x) {
  x = x < broadcast(-127.0f) ? broadcast(-127.0f) : x;
  const Vector shift = broadcast(12582912.0f);  // 1.5 · 2^23: the sum's last bits are the rounded integer
  const Vector shifted = x + shift;
  const Vector f = x - (shifted - shift);
  // Minimax on [-1/2, 1/2] with p(0) = 1: relative error 9e-8 before rounding.
  Vector p = broadcast(0.00132647215f);
  p = p * f + 0.00967151485f;
  p = p * f + 0.0555073358f;
  p = p * f + 0.240222424f;
  p = p * f + 0.693147004f;
  p = p * f + 1.0f;
  const Integers power = (reinterpret_cast<const Integers&>(shifted) << 23) + 0x3F800000;
  return p * reinterpret_cast<const Vector&>(power);
}

/// How a product of tiles uses that entries with query < key are masked (on the diagonal only).
enum class Causal {
  none,
  columns,          ///< C is [key, query]: columns before the row are not computed
  depth_by_column,  ///< B is [key, query]: the sum over keys ends at the column
  depth_by_row,     ///< A is [key, query]: the sum over queries starts at the row
};

/// c[R, V vectors] (+)= a · b over `depth`, in registers. a is [R, depth] or, transposed, [depth, R].
template <int R, int V, bool Transposed>
inline void product_block(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c,
                          std::int64_t ldc, std::int64_t depth, bool add) {
  Vector sum[R][V];
  for (int i = 0; i < R; ++i) {
    for (int j = 0; j < V; ++j) sum[i][j] = add ? load(c + i * ldc + j * lanes) : Vector{};
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector right[V];
    for (int j = 0; j < V; ++j) right[j] = load(b + k * ldb + j * lanes);
    for (int i = 0; i < R; ++i) {
      const float left = Transposed ? a[k * lda + i] : a[i * lda + k];
      for (int j = 0; j < V; ++j) sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int j = 0; j < V; ++j) store(c + i * ldc + j * lanes, sum[i][j]);
  }
}

template <int V, bool Transposed, Causal causal>
inline void product_columns(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c,
                            std::int64_t ldc, std::int64_t rows, std::int64_t column, std::int64_t depth, bool add) {
  if (causal == Causal::depth_by_column) depth = std::min(depth, column + V * lanes);
  for (std::int64_t r = 0; r < rows;) {
    if (causal == Causal::columns && r >= column + V * lanes) return;
    const std::int64_t skip = causal == Causal::depth_by_row ? r : 0;
    const float* left = Transposed ? a + skip * lda + r : a + r * lda + skip;
    const float* right = b + skip * ldb + column;
    float* to = c + r * ldc + column;
    const auto block = [&]<int R>() {
      product_block<R, V, Transposed>(left, lda, right, ldb, to, ldc, depth - skip, add);
      r += R;
    };
    if (rows - r >= block_rows) {
      block.template operator()<block_rows>();
    } else if (rows - r >= 4) {
      block.template operator()<4>();
    } else {
      block.template operator()<1>();
    }
  }
}

/// c[rows, columns] (+)= a[rows, depth] · b[depth, columns]; columns a multiple of 16. A block of b's columns stays in
/// the first-level cache while the rows of a pass.
template <bool Transposed, Causal causal>
void product(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc,
             std::int64_t rows, std::int64_t columns, std::int64_t depth, bool add) {
  std::int64_t column = 0;
  for (; column + block_vectors * lanes <= columns; column += block_vectors * lanes) {
    product_columns<block_vectors, Transposed, causal>(a, lda, b, ldb, c, ldc, rows, column, depth, add);
  }
  for (; column < columns; column += lanes) {
    product_columns<1, Transposed, causal>(a, lda, b, ldb, c, ldc, rows, column, depth, add);
  }
}

}  // namespace octet::cpu::attention
