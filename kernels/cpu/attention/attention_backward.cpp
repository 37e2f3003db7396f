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

/// One thread's tiles; q is times scale · log2 e, so that p = exp2(q·k - log2_sum).
struct alignas(64) BackwardScratch {
  float q_rows[tile * max_head_dim];   ///< [query, depth]
  float q[max_head_dim * tile];        ///< [depth, query]
  float do_rows[tile * max_head_dim];  ///< [query, depth]
  float d_o[max_head_dim * tile];      ///< [depth, query]
  float dq[max_head_dim * tile];       ///< [depth, query], times 1 / scale
  float p[tile * tile];                ///< [key, query]
  float ds[tile * tile];               ///< [key, query]: dp, then ds
  float log2_sum[tile];                ///< infinite for queries past the end, whose p is then 0
  float delta[tile];                   ///< sum of o · do of each query
};

/// Scores to probabilities and dp to ds = p (dp - delta), masked on the diagonal.
void softmax_backward(BackwardScratch& t, bool diagonal) {
  for (std::int64_t k = 0; k < tile; ++k) {
    float* p = t.p + k * tile;
    float* ds = t.ds + k * tile;
    const std::int64_t from = diagonal ? k / lanes * lanes : 0;
    for (std::int64_t c = from; c < tile; c += lanes) {
      const Vector probability = exp2(load(p + c) - load(t.log2_sum + c));
      store(p + c, probability);
      store(ds + c, probability * (load(ds + c) - load(t.delta + c)));
    }
    if (diagonal) {
      std::fill(p, p + k, 0.0f);
      std::fill(ds, ds + k, 0.0f);
    }
  }
}

/// One query head of one sequence: dq is final, dk and dv are this head's part.
template <typename T>
class HeadBackward {
 public:
  HeadBackward(const AttentionBackward& args, std::int64_t batch, std::int64_t head, BackwardScratch& scratch)
      : args_(args),
        s_(args.shape),
        packing_(s_),
        documents_(args.documents.begin, s_, batch),
        batch_(batch),
        head_(head),
        t_(scratch) {}

  void run(const float* k, const float* v, float* dk, float* dv) {
    std::fill(dk, dk + packing_.head_size(), 0.0f);
    std::fill(dv, dv + packing_.head_size(), 0.0f);
    for (std::int64_t i = 0; i < packing_.tiles; ++i) {
      load_queries(i);
      for (std::int64_t j = documents_.first_tile(i); j < i; ++j) {
        const std::int64_t at = j * packing_.tile_size();
        tile_pair<Causal::none, Causal::none, Causal::none>(i, j, k + at, v + at, dk + at, dv + at);
      }
      const std::int64_t at = i * packing_.tile_size();
      tile_pair<Causal::columns, Causal::depth_by_row, Causal::depth_by_column>(i, i, k + at, v + at, dk + at, dv + at);
      store_dq(i);
    }
  }

 private:
  std::int64_t stride() const { return s_.heads * s_.head_dim; }
  std::int64_t offset(std::int64_t first) const { return ((batch_ * s_.seq + first) * s_.heads + head_) * s_.head_dim; }

  void load_queries(std::int64_t query_tile) {
    const std::int64_t first = query_tile * tile, valid = std::min(tile, s_.seq - first), depth = packing_.depth;
    const T* q = static_cast<const T*>(args_.q) + offset(first);
    const T* o = static_cast<const T*>(args_.o) + offset(first);
    const T* d_o = static_cast<const T*>(args_.d_o) + offset(first);
    pack_rows(d_o, stride(), tile, valid, s_.head_dim, depth, 1.0f, t_.do_rows);
    pack_rows(o, stride(), tile, valid, s_.head_dim, depth, 1.0f, t_.q_rows);
    for (std::int64_t i = 0; i < tile; ++i) {
      float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t d = 0; d < depth; ++d) sum += t_.do_rows[i * depth + d] * t_.q_rows[i * depth + d];
      t_.delta[i] = sum;
    }
    pack_rows(q, stride(), tile, valid, s_.head_dim, depth, s_.scale * log2_e, t_.q_rows);
    transpose(t_.q_rows, tile, depth, t_.q);
    transpose(t_.do_rows, tile, depth, t_.d_o);
    const float* log_sum_exp = args_.log_sum_exp + (batch_ * s_.heads + head_) * s_.seq + first;
    for (std::int64_t i = 0; i < tile; ++i) {
      t_.log2_sum[i] = i < valid ? log_sum_exp[i] * log2_e : std::numeric_limits<float>::infinity();
    }
    std::fill(t_.dq, t_.dq + depth * tile, 0.0f);
  }

  template <Causal scores, Causal key_gradients, Causal query_gradients>
  void tile_pair(std::int64_t query_tile, std::int64_t key_tile, const float* k, const float* v, float* dk, float* dv) {
    const std::int64_t depth = packing_.depth;
    product<false, scores>(k, depth, t_.q, tile, t_.p, tile, tile, tile, depth, false);
    product<false, scores>(v, depth, t_.d_o, tile, t_.ds, tile, tile, tile, depth, false);
    softmax_backward(t_, scores != Causal::none);
    documents_.mask(query_tile, key_tile, 0.0f, t_.p);
    documents_.mask(query_tile, key_tile, 0.0f, t_.ds);
    product<false, key_gradients>(t_.p, tile, t_.do_rows, depth, dv, depth, tile, depth, tile, true);
    product<false, key_gradients>(t_.ds, tile, t_.q_rows, depth, dk, depth, tile, depth, tile, true);
    product<true, query_gradients>(k, depth, t_.ds, tile, t_.dq, tile, depth, tile, tile, true);
  }

  void store_dq(std::int64_t query_tile) {
    const std::int64_t first = query_tile * tile, valid = std::min(tile, s_.seq - first), depth = packing_.depth;
    transpose(t_.dq, depth, tile, t_.q_rows);
    unpack_rows(t_.q_rows, depth, valid, s_.head_dim, s_.scale, static_cast<T*>(args_.dq) + offset(first), stride());
  }

  const AttentionBackward& args_;
  const AttentionShape& s_;
  const Packing packing_;
  const Documents documents_;
  const std::int64_t batch_, head_;
  BackwardScratch& t_;
};

template <typename T>
void backward(const AttentionBackward& args) {
  const AttentionShape& s = args.shape;
  const Packing packing(s);
  const std::int64_t head_size = packing.head_size(), units = s.batch * s.heads;
  auto* k = static_cast<float*>(args.workspace);
  float* v = k + s.batch * s.kv_heads * head_size;
  float* dk = v + s.batch * s.kv_heads * head_size;
  float* dv = dk + units * head_size;
  pack_keys<T>(s, args.k, args.v, k, v);
  for_units<BackwardScratch>(units, [&](std::int64_t u, BackwardScratch& scratch) {
    const std::int64_t keys = u / (s.heads / s.kv_heads) * head_size;
    HeadBackward<T>(args, u / s.heads, u % s.heads, scratch)
        .run(k + keys, v + keys, dk + u * head_size, dv + u * head_size);
  });
  sum_parts<T>(s, dk, ln_2, args.dk);  // q carries scale · log2 e; dk wants scale
  sum_parts<T>(s, dv, 1.0f, args.dv);
}

}  // namespace
}  // namespace attention

std::int64_t attention_backward_workspace(const AttentionBackward& args) {
  const AttentionShape& s = args.shape;
  return 2 * s.batch * (s.kv_heads + s.heads) * attention::Packing(s).head_size() * size_of(DType::f32);
}

void attention_backward(Stream&, const AttentionBackward& args) {
  check_operands(args);
  if (attention::takes_onednn(args.shape)) return attention::backward_by_onednn(args);
  args.shape.dtype == DType::f32 ? attention::backward<float>(args) : attention::backward<bf16>(args);
}

}  // namespace octet::cpu
