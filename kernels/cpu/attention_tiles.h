#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/cpu/vector.h"
#include "src/base/round_up.h"

/// What attention forward and backward share: vectors, exp2, products of small fp32 tiles, packing.
///
/// Tiles are kept transposed, keys as rows and queries as columns: a vector then holds one key against several queries,
/// so that maxima, sums and masks of the softmax work lane by lane, and K and V are read as they are stored.
/// Files that include this are compiled with -ffp-contract=fast (kernels/room.cmake).
namespace octet::cpu::attention {

#if defined(__AVX512F__)
inline constexpr int lanes = 16, block_rows = 6, block_vectors = 4;
#elif defined(__AVX__)
inline constexpr int lanes = 8, block_rows = 6, block_vectors = 2;
#else
inline constexpr int lanes = 4, block_rows = 4, block_vectors = 2;
#endif
using Vector = float __attribute__((vector_size(lanes * sizeof(float)), may_alias));
using Integers = std::int32_t __attribute__((vector_size(lanes * sizeof(float)), may_alias));

inline Vector load(const float* p) {
  return *reinterpret_cast<const Vector*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<Vector*>(p) = v;
}
inline Vector broadcast(float x) {
  return Vector{} + x;
}
inline Vector max(Vector a, Vector b) {
  return a > b ? a : b;
}

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

/// Sizes of the packed form: rows of head_dim padded with zeros to a multiple of 16, sequences to whole tiles.
struct Packing {
  std::int64_t depth, tiles;
  explicit Packing(const AttentionShape& s) : depth(round_up(s.head_dim, 16)), tiles(ceil_div(s.seq, tile)) {
    if (s.head_dim > max_head_dim) {
      throw usage_error("kernels", "attention: head_dim {}, on the CPU at most {}", s.head_dim, max_head_dim);
    }
  }
  std::int64_t tile_floats() const { return tile * depth; }
  std::int64_t head_floats() const { return tiles * tile_floats(); }
};

/// Rows [first, first + tile) of one head of x [seq, heads, head_dim] to fp32 [tile, depth] × factor, zero outside.
template <typename T>
void pack_rows(const T* x, std::int64_t stride, std::int64_t valid, std::int64_t head_dim, std::int64_t depth,
               float factor, float* packed) {
  for (std::int64_t r = 0; r < tile; ++r) {
    float* __restrict to = packed + r * depth;
    const std::int64_t n = r < valid ? head_dim : 0;
    const T* __restrict from = x + r * stride;
#pragma omp simd
    for (std::int64_t d = 0; d < n; ++d) to[d] = static_cast<float>(from[d]) * factor;
    std::fill(to + n, to + depth, 0.0f);
  }
}

/// to[columns, rows] = from[rows, columns]ᵀ, both extents multiples of 16.
inline void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  constexpr std::int64_t step = 8;
  for (std::int64_t r = 0; r < rows; r += step) {
    for (std::int64_t c = 0; c < columns; c += step) {
      for (std::int64_t i = 0; i < step; ++i) {
        for (std::int64_t j = 0; j < step; ++j) to[(c + i) * rows + r + j] = from[(r + j) * columns + c + i];
      }
    }
  }
}

/// The first `valid` rows of fp32 [tile, depth] × factor back into one head of x [seq, heads, head_dim].
template <typename T>
void unpack_rows(const float* packed, std::int64_t depth, std::int64_t valid, std::int64_t head_dim, float factor, T* x,
                 std::int64_t stride) {
  for (std::int64_t r = 0; r < valid; ++r) {
    const float* __restrict from = packed + r * depth;
    T* __restrict to = x + r * stride;
#pragma omp simd
    for (std::int64_t d = 0; d < head_dim; ++d) cpu::store(to[d], from[d] * factor);
  }
}

/// Packs k and v of every (batch, kv head) as [batch, kv_heads][tiles][tile, depth], on all threads.
template <typename T>
void pack_keys(const AttentionShape& s, const void* k, const void* v, float* k_packed, float* v_packed) {
  const Packing packing(s);
  const std::int64_t units = s.batch * s.kv_heads * packing.tiles, stride = s.kv_heads * s.head_dim;
#pragma omp parallel for schedule(static)
  for (std::int64_t u = 0; u < units; ++u) {
    const std::int64_t head = u / packing.tiles, first = u % packing.tiles * tile;
    const std::int64_t offset = ((head / s.kv_heads * s.seq + first) * s.kv_heads + head % s.kv_heads) * s.head_dim;
    const std::int64_t valid = std::min(tile, s.seq - first), to = u * packing.tile_floats();
    pack_rows(static_cast<const T*>(k) + offset, stride, valid, s.head_dim, packing.depth, 1.0f, k_packed + to);
    pack_rows(static_cast<const T*>(v) + offset, stride, valid, s.head_dim, packing.depth, 1.0f, v_packed + to);
  }
}

}  // namespace octet::cpu::attention
