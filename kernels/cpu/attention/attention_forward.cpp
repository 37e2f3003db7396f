#include <cmath>
#include <limits>

#include "kernels/cpu/attention/attention_documents.h"
#include "kernels/cpu/attention/attention_onednn.h"
#include "kernels/cpu/attention/attention_packing.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/attention/attention_units.h"
#include "kernels/cpu/cpu_kernels.h"

namespace octet::cpu {
namespace attention {
namespace {

/// One thread's tiles. Scores are in units of log2, so that exp2 serves.
struct alignas(64) ForwardScratch {
  float rows[tile * max_head_dim];  ///< [query, depth]: q on the way in, o on the way out
  float q[max_head_dim * tile];     ///< [depth, query], times scale · log2 e
  float scores[tile * tile];        ///< [key, query], then the probabilities
  float o[max_head_dim * tile];     ///< [depth, query], not yet divided by sum
  float max[tile], sum[tile];       ///< of each query so far
};

/// The score of a key of another document. It is finite, so that a query all of whose keys so far were such ones has a
/// maximum; the first key of its own document takes what they left, times zero.
constexpr float masked = -1e30f;

/// Scores to unnormalised probabilities; max, sum and o move to the new maximum (online softmax). Several vectors of
/// queries together, for the latency of the sums.
void softmax(ForwardScratch& t, std::int64_t depth, bool diagonal) {
  constexpr int vectors = 4;
  static_assert(tile % (vectors * lanes) == 0);
  for (std::int64_t column = 0; column < tile; column += vectors * lanes) {
    // On the diagonal, keys after the last query of this group are masked as a whole.
    const std::int64_t keys = diagonal ? column + vectors * lanes : tile;
    Vector max_now[vectors], sum_now[vectors], factor[vectors];
    for (int j = 0; j < vectors; ++j) max_now[j] = load(t.max + column + j * lanes);
    for (std::int64_t k = 0; k < keys; ++k) {
      float* row = t.scores + k * tile + column;
      if (diagonal) {  // -inf where query < key
        for (std::int64_t q = 0; q < std::min<std::int64_t>(k - column, vectors * lanes); ++q) {
          row[q] = -std::numeric_limits<float>::infinity();
        }
      }
      for (int j = 0; j < vectors; ++j) max_now[j] = max(load(row + j * lanes), max_now[j]);
    }
    for (int j = 0; j < vectors; ++j) {
      factor[j] = exp2(load(t.max + column + j * lanes) - max_now[j]);
      sum_now[j] = load(t.sum + column + j * lanes) * factor[j];
      store(t.max + column + j * lanes, max_now[j]);
    }
    for (std::int64_t k = 0; k < keys; ++k) {
      float* row = t.scores + k * tile + column;
      for (int j = 0; j < vectors; ++j) {
        const Vector p = exp2(load(row + j * lanes) - max_now[j]);
        store(row + j * lanes, p);
        sum_now[j] += p;
      }
    }
    for (int j = 0; j < vectors; ++j) store(t.sum + column + j * lanes, sum_now[j]);
    for (std::int64_t d = 0; d < depth; ++d) {
      float* o = t.o + d * tile + column;
      for (int j = 0; j < vectors; ++j) store(o + j * lanes, load(o + j * lanes) * factor[j]);
    }
  }
}

template <typename T>
void forward_tile(const AttentionForward& args, const float* k, const float* v, std::int64_t batch, std::int64_t head,
                  std::int64_t query_tile, ForwardScratch& t) {
  const AttentionShape& s = args.shape;
  const Packing packing(s);
  const std::int64_t depth = packing.depth, first = query_tile * tile, valid = std::min(tile, s.seq - first);
  const std::int64_t stride = s.heads * s.head_dim, offset = ((batch * s.seq + first) * s.heads + head) * s.head_dim;

  pack_rows(static_cast<const T*>(args.q) + offset, stride, tile, valid, s.head_dim, depth, s.scale * log2_e, t.rows);
  transpose(t.rows, tile, depth, t.q);
  std::fill(t.max, t.max + tile, -std::numeric_limits<float>::infinity());
  std::fill(t.sum, t.sum + tile, 0.0f);
  std::fill(t.o, t.o + depth * tile, 0.0f);
  const Documents documents(args.documents.begin, s, batch);
  for (std::int64_t j = documents.first_tile(query_tile); j <= query_tile; ++j) {
    const float* k_tile = k + j * packing.tile_size();
    const float* v_tile = v + j * packing.tile_size();
    if (j < query_tile) {
      product<false, Causal::none>(k_tile, depth, t.q, tile, t.scores, tile, tile, tile, depth, false);
      documents.mask(query_tile, j, masked, t.scores);
      softmax(t, depth, false);
      product<true, Causal::none>(v_tile, depth, t.scores, tile, t.o, tile, depth, tile, tile, true);
    } else {
      product<false, Causal::columns>(k_tile, depth, t.q, tile, t.scores, tile, tile, tile, depth, false);
      documents.mask(query_tile, j, masked, t.scores);
      softmax(t, depth, true);
      product<true, Causal::depth_by_column>(v_tile, depth, t.scores, tile, t.o, tile, depth, tile, tile, true);
    }
  }

  float* log_sum_exp = args.log_sum_exp + (batch * s.heads + head) * s.seq + first;
  for (std::int64_t i = 0; i < valid; ++i) log_sum_exp[i] = (t.max[i] + std::log2(t.sum[i])) * ln_2;
  for (std::int64_t i = 0; i < tile; ++i) t.sum[i] = 1.0f / t.sum[i];
  for (std::int64_t d = 0; d < depth; ++d) {
    for (std::int64_t i = 0; i < tile; ++i) t.o[d * tile + i] *= t.sum[i];
  }
  transpose(t.o, depth, tile, t.rows);
  unpack_rows(t.rows, depth, valid, s.head_dim, 1.0f, static_cast<T*>(args.o) + offset, stride);
}

template <typename T>
void forward(const AttentionForward& args) {
  const AttentionShape& s = args.shape;
  const Packing packing(s);
  auto* k = static_cast<float*>(args.workspace);
  float* v = k + s.batch * s.kv_heads * packing.head_size();
  pack_keys<T>(s, args.k, args.v, k, v);
  const std::int64_t units = s.batch * s.heads * packing.tiles;
  // Neighbouring units share K and V in the cache; within a head the longest rows come first.
  for_units<ForwardScratch>(units, [&](std::int64_t u, ForwardScratch& scratch) {
    const std::int64_t query_tile = packing.tiles - 1 - u % packing.tiles;
    const std::int64_t head = u / packing.tiles % s.heads, batch = u / packing.tiles / s.heads;
    const std::int64_t kv_head = batch * s.kv_heads + head / (s.heads / s.kv_heads);
    const std::int64_t keys = kv_head * packing.head_size();
    forward_tile<T>(args, k + keys, v + keys, batch, head, query_tile, scratch);
  });
}

}  // namespace
}  // namespace attention

/// As large with oneDNN, which takes half of it: plans do not depend on the processor.
std::int64_t attention_forward_workspace(const AttentionForward& args) {
  const AttentionShape& s = args.shape;
  return 2 * s.batch * s.kv_heads * attention::Packing(s).head_size() * size_of(DType::f32);
}

void attention_forward(Stream&, const AttentionForward& args) {
  check_operands(args);
  if (attention::takes_onednn(args.shape)) return attention::forward_by_onednn(args);
  args.shape.dtype == DType::f32 ? attention::forward<float>(args) : attention::forward<bf16>(args);
}

}  // namespace octet::cpu
