#include <limits>

#include "kernels/cpu/attention/attention_documents.h"
#include "kernels/cpu/attention/attention_onednn.h"
#include "kernels/cpu/attention/attention_packing.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/attention/attention_units.h"
#include "kernels/cpu/parts/lanes.h"

namespace octet::cpu::attention {
namespace {

/// One thread's block. Scores are [key, query], so that dk and dv need no transpose; they are in units of log2.
struct alignas(64) BackwardBlock {
  bf16 q[block_queries * max_head_dim];                                      ///< [query, depth]
  bf16 d_o[block_queries * max_head_dim];                                    ///< [query, depth]
  float dq[block_queries * max_head_dim];                                    ///< [query, depth], times 1 / scale
  float scores[block_keys * block_queries], dp[block_keys * block_queries];  ///< [key, query]
  bf16 p[block_keys * block_queries], ds[block_keys * block_queries];        ///< [key, query]
  float log2_sum[block_queries];  ///< infinite for queries past the end, whose p is then 0
  float delta[block_queries];     ///< sum of o · do of each query
};

/// One query head of one sequence: dq is final, dk and dv are this head's part.
class HeadBackward {
 public:
  HeadBackward(const AttentionBackward& args, std::int64_t batch, std::int64_t head, BackwardBlock& block)
      : args_(args),
        s_(args.shape),
        packing_(s_),
        documents_(args.documents.begin, s_, batch),
        batch_(batch),
        head_(head),
        t_(block) {}

  void run(const bf16* k, const bf16* v, float* dk, float* dv) {
    const std::int64_t depth = packing_.depth;
    std::fill(dk, dk + packing_.head_size(), 0.0f);
    std::fill(dv, dv + packing_.head_size(), 0.0f);
    for (std::int64_t first = 0; first < s_.seq; first += block_queries) {
      const std::int64_t rows = std::min(block_queries, packing_.rows() - first), end = first + rows;
      load_queries(first, rows);
      for (std::int64_t j = documents_.begin_of(first) / tile * tile; j < end; j += block_keys) {
        const std::int64_t keys = std::min(block_keys, end - j), at = j * depth;
        scores(k + at, t_.q, s_.scale * log2_e, t_.scores, keys, rows);
        scores(v + at, t_.d_o, 1.0f, t_.dp, keys, rows);
        softmax_backward(first, rows, j, keys);
        add_gradient({t_.p, rows, false}, t_.d_o, dv + at, keys, rows);
        add_gradient({t_.ds, rows, false}, t_.q, dk + at, keys, rows);
        add_gradient({t_.ds, rows, true}, k + at, t_.dq, rows, keys);
      }
      const std::int64_t valid = std::min(rows, s_.seq - first);
      unpack_rows(t_.dq, depth, valid, s_.head_dim, s_.scale, static_cast<bf16*>(args_.dq) + offset(first), stride());
    }
  }

 private:
  std::int64_t stride() const { return s_.heads * s_.head_dim; }
  std::int64_t offset(std::int64_t first) const { return ((batch_ * s_.seq + first) * s_.heads + head_) * s_.head_dim; }

  void load_queries(std::int64_t first, std::int64_t rows) {
    const std::int64_t valid = std::min(rows, s_.seq - first), depth = packing_.depth;
    const bf16* q = static_cast<const bf16*>(args_.q) + offset(first);
    const bf16* o = static_cast<const bf16*>(args_.o) + offset(first);
    const bf16* d_o = static_cast<const bf16*>(args_.d_o) + offset(first);
    pack_rows(q, stride(), rows, valid, s_.head_dim, depth, 1.0f, t_.q);
    pack_rows(d_o, stride(), rows, valid, s_.head_dim, depth, 1.0f, t_.d_o);
    const float* log_sum_exp = args_.log_sum_exp + (batch_ * s_.heads + head_) * s_.seq + first;
    for (std::int64_t i = 0; i < rows; ++i) {
      t_.log2_sum[i] = i < valid ? log_sum_exp[i] * log2_e : std::numeric_limits<float>::infinity();
      t_.delta[i] = i < valid ? sum_lanes<float>(s_.head_dim,
                                                 [&](std::int64_t d) {
                                                   return static_cast<float>(o[i * stride() + d]) *
                                                          static_cast<float>(d_o[i * stride() + d]);
                                                 })
                              : 0.0f;
    }
    std::fill(t_.dq, t_.dq + rows * depth, 0.0f);
  }

  /// to[key, query] = scale · keys · queriesᵀ
  void scores(const bf16* of_keys, const bf16* of_queries, float scale, float* to, std::int64_t keys,
              std::int64_t rows) {
    multiply({.a = {of_keys, packing_.depth, false},
              .b = {of_queries, packing_.depth, true},
              .c = to,
              .m = keys,
              .n = rows,
              .k = packing_.depth,
              .scale = scale});
  }

  /// to[m, depth] += weights[m, k] · rows[k, depth]
  void add_gradient(const MultiplyOperand& weights, const bf16* rows, float* to, std::int64_t m, std::int64_t k) {
    const std::int64_t depth = packing_.depth;
    multiply({.a = weights, .b = {rows, depth, false}, .c = to, .m = m, .n = depth, .k = k, .beta = 1.0f});
  }

  /// Scores to probabilities p and dp to ds = p (dp - delta), zero where a query does not see a key.
  void softmax_backward(std::int64_t first, std::int64_t rows, std::int64_t first_key, std::int64_t keys) {
    std::int64_t end_of_queries = 0;  // of those whose document does not begin behind the key
    for (std::int64_t i = 0; i < keys; ++i) {
      const std::int64_t key = first_key + i, row = i * rows;
      while (end_of_queries < rows && documents_.begin_of(first + end_of_queries) <= key) ++end_of_queries;
      const std::int64_t end = end_of_queries, begin = std::min(std::max<std::int64_t>(key - first, 0), end);
      const std::int64_t from = begin / lanes * lanes, to = round_up(end, lanes);
      for (std::int64_t c = from; c < to; c += lanes) {
        const Vector probability = exp2(load(t_.scores + row + c) - load(t_.log2_sum + c));
        store(t_.p + row + c, probability);
        store(t_.ds + row + c, probability * (load(t_.dp + row + c) - load(t_.delta + c)));
      }
      for (bf16* x : {t_.p + row, t_.ds + row}) {
        std::fill(x, x + begin, bf16{});
        std::fill(x + end, x + rows, bf16{});
      }
    }
  }

  const AttentionBackward& args_;
  const AttentionShape& s_;
  const Packing packing_;
  const Documents documents_;
  const std::int64_t batch_, head_;
  BackwardBlock& t_;
};

}  // namespace

void backward_by_onednn(const AttentionBackward& args) {
  const AttentionShape& s = args.shape;
  const Packing packing(s);
  const std::int64_t of_keys = s.batch * s.kv_heads * packing.head_size(), units = s.batch * s.heads;
  auto* dk = static_cast<float*>(args.workspace);
  float* dv = dk + units * packing.head_size();
  auto* k = reinterpret_cast<bf16*>(dv + units * packing.head_size());
  bf16* v = k + of_keys;
  pack_keys<bf16>(s, args.k, args.v, k, v);
  for_units<BackwardBlock>(units, [&](std::int64_t u, BackwardBlock& block) {
    const std::int64_t keys = u / (s.heads / s.kv_heads) * packing.head_size(), part = u * packing.head_size();
    HeadBackward(args, u / s.heads, u % s.heads, block).run(k + keys, v + keys, dk + part, dv + part);
  });
  sum_parts<bf16>(s, dk, s.scale, args.dk);
  sum_parts<bf16>(s, dv, 1.0f, args.dv);
}

}  // namespace octet::cpu::attention
