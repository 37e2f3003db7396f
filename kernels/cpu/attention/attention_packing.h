#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/parts/vector.h"
#include "src/base/round_up.h"

/// How attention forward and backward lay out one head's rows for their products, and put their results back.
namespace octet::cpu::attention {

/// Sizes of the packed form: rows of head_dim padded with zeros to a multiple of 16, sequences to whole tiles.
struct Packing {
  std::int64_t depth, tiles;
  explicit Packing(const AttentionShape& s) : depth(round_up(s.head_dim, 16)), tiles(ceil_div(s.seq, tile)) {
    if (s.head_dim > max_head_dim) {
      throw usage_error("kernels", "attention: head_dim {}, on the CPU at most {}", s.head_dim, max_head_dim);
    }
  }
  std::int64_t rows() const { return tiles * tile; }
  std::int64_t tile_size() const { return tile * depth; }
  std::int64_t head_size() const { return rows() * depth; }
};

/// `rows` rows of one head of x [seq, heads, head_dim], of which `valid` lie within the sequence, to [rows, depth]
/// times factor, zero outside. With factor 1 a packed bf16 is the one of x.
template <typename From, typename To>
void pack_rows(const From* x, std::int64_t stride, std::int64_t rows, std::int64_t valid, std::int64_t head_dim,
               std::int64_t depth, float factor, To* packed) {
  for (std::int64_t r = 0; r < rows; ++r) {
    To* __restrict to = packed + r * depth;
    const std::int64_t n = r < valid ? head_dim : 0;
    const From* __restrict from = x + r * stride;
#pragma omp simd
    for (std::int64_t d = 0; d < n; ++d) {
      if constexpr (std::is_same_v<To, bf16>) {
        to[d].bits = from[d].bits;
      } else {
        to[d] = static_cast<float>(from[d]) * factor;
      }
    }
    std::fill(to + n, to + depth, To{});
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

/// The first `valid` rows of fp32 [rows, depth] × factor back into one head of x [seq, heads, head_dim].
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

/// Packs k and v of every (batch, kv head) as [batch, kv_heads][rows, depth], on all threads.
template <typename From, typename To>
void pack_keys(const AttentionShape& s, const void* k, const void* v, To* k_packed, To* v_packed) {
  const Packing packing(s);
  const std::int64_t units = s.batch * s.kv_heads * packing.tiles, stride = s.kv_heads * s.head_dim;
#pragma omp parallel for schedule(static)
  for (std::int64_t u = 0; u < units; ++u) {
    const std::int64_t head = u / packing.tiles, first = u % packing.tiles * tile;
    const std::int64_t offset = ((head / s.kv_heads * s.seq + first) * s.kv_heads + head % s.kv_heads) * s.head_dim;
    const std::int64_t valid = std::min(tile, s.seq - first), to = u * packing.tile_size();
    const auto pack = [&](const void* from, To* packed) {
      pack_rows(static_cast<const From*>(from) + offset, stride, tile, valid, s.head_dim, packing.depth, 1.0f,
                packed + to);
    };
    pack(k, k_packed);
    pack(v, v_packed);
  }
}

/// Adds the parts of a group's query heads in head order and writes one gradient of k or v.
template <typename T>
void sum_parts(const AttentionShape& s, float* parts, float factor, void* gradient) {
  const Packing packing(s);
  const std::int64_t group = s.heads / s.kv_heads, units = s.batch * s.kv_heads * packing.tiles;
#pragma omp parallel for schedule(static)
  for (std::int64_t u = 0; u < units; ++u) {
    const std::int64_t kv = u / packing.tiles, tile_index = u % packing.tiles, first = tile_index * tile;
    const std::int64_t batch = kv / s.kv_heads, kv_head = kv % s.kv_heads;
    float* __restrict sum = parts + kv * group * packing.head_size() + tile_index * packing.tile_size();
    for (std::int64_t g = 1; g < group; ++g) {
      const float* __restrict part = sum + g * packing.head_size();
#pragma omp simd
      for (std::int64_t i = 0; i < packing.tile_size(); ++i) sum[i] += part[i];
    }
    T* to = static_cast<T*>(gradient) + ((batch * s.seq + first) * s.kv_heads + kv_head) * s.head_dim;
    unpack_rows(sum, packing.depth, std::min(tile, s.seq - first), s.head_dim, factor, to, s.kv_heads * s.head_dim);
  }
}

}  // namespace octet::cpu::attention
