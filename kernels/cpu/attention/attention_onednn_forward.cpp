#include <cmath>
#include <limits>

#include "kernels/cpu/attention/attention_documents.h"
#include "kernels/cpu/attention/attention_onednn.h"
#include "kernels/cpu/attention/attention_packing.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/attention/attention_units.h"
#include "kernels/cpu/gemm/gemm_input.h"

namespace octet::cpu::attention {
namespace {

/// One thread's block. Scores are in units of log2, so that exp2 serves.
struct alignas(64) ForwardBlock {
  bf16 q[block_queries * max_head_dim];          ///< [query, depth]
  float o[block_queries * max_head_dim];         ///< [query, depth], not yet divided by sum
  float scores[block_queries * block_keys];      ///< [query, key]
  bf16 p[block_queries * block_keys];            ///< [query, key]: probabilities, not yet divided by sum
  float max[block_queries], sum[block_queries];  ///< of each query so far
};

/// All lanes put together by halves.
template <typename Combine>
float combine_lanes(Vector v, Combine combine) {
  alignas(64) float lane[lanes];
  store(lane, v);
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] = combine(lane[i], lane[i + width]);
  }
  return lane[0];
}

/// The keys of a block that a query sees, [begin, end).
struct SeenKeys {
  std::int64_t begin, end;
};

/// One query's scores to probabilities (online softmax); returns by what its earlier sums are to be multiplied.
float softmax(float* scores, bf16* p, SeenKeys seen, std::int64_t keys, float& max_so_far, float& sum) {
  const std::int64_t begin = seen.begin / lanes * lanes, end = round_up(seen.end, lanes);
  if (seen.begin >= seen.end) {
    std::fill(p, p + keys, bf16{});
    return 1.0f;
  }
  constexpr float unseen = -std::numeric_limits<float>::infinity();
  std::fill(p, p + begin, bf16{});
  std::fill(p + end, p + keys, bf16{});
  std::fill(scores + begin, scores + seen.begin, unseen);
  std::fill(scores + seen.end, scores + end, unseen);

  Vector largest = broadcast(max_so_far);
  for (std::int64_t c = begin; c < end; c += lanes) largest = max(load(scores + c), largest);
  const float max_now = combine_lanes(largest, [](float a, float b) { return a > b ? a : b; });
  Vector added{};
  for (std::int64_t c = begin; c < end; c += lanes) {
    const Vector probability = exp2(load(scores + c) - broadcast(max_now));
    added += probability;
    store(p + c, probability);
  }
  const float factor = exp2(broadcast(max_so_far - max_now))[0];
  max_so_far = max_now;
  sum = sum * factor + combine_lanes(added, [](float a, float b) { return a + b; });
  return factor;
}

/// Queries [first, first + block_queries) of one head of one sequence.
class QueryBlock {
 public:
  QueryBlock(const AttentionForward& args, std::int64_t batch, std::int64_t head, std::int64_t first,
             ForwardBlock& block)
      : args_(args),
        s_(args.shape),
        packing_(s_),
        documents_(args.documents.begin, s_, batch),
        batch_(batch),
        head_(head),
        first_(first),
        rows_(std::min(block_queries, packing_.rows() - first)),
        valid_(std::min(rows_, s_.seq - first)),
        t_(block) {}

  void run(const bf16* k, const bf16* v) {
    const std::int64_t depth = packing_.depth, end = first_ + rows_;
    pack_rows(static_cast<const bf16*>(args_.q) + offset(), stride(), rows_, valid_, s_.head_dim, depth, 1.0f, t_.q);
    std::fill(t_.max, t_.max + rows_, -std::numeric_limits<float>::infinity());
    std::fill(t_.sum, t_.sum + rows_, 0.0f);
    std::fill(t_.o, t_.o + rows_ * depth, 0.0f);
    for (std::int64_t j = documents_.begin_of(first_) / tile * tile; j < end; j += block_keys) {
      const std::int64_t keys = std::min(block_keys, end - j);
      multiply({.a = {t_.q, depth, false},
                .b = {k + j * depth, depth, true},
                .c = t_.scores,
                .m = rows_,
                .n = keys,
                .k = depth,
                .scale = s_.scale * log2_e});
      softmax_block(j, keys);
      multiply({.a = {t_.p, keys, false},
                .b = {v + j * depth, depth, false},
                .c = t_.o,
                .m = rows_,
                .n = depth,
                .k = keys,
                .beta = 1.0f});
    }
    store_output();
  }

 private:
  std::int64_t stride() const { return s_.heads * s_.head_dim; }
  std::int64_t offset() const { return ((batch_ * s_.seq + first_) * s_.heads + head_) * s_.head_dim; }

  void softmax_block(std::int64_t first_key, std::int64_t keys) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      const std::int64_t query = first_ + i;
      const SeenKeys seen{std::max<std::int64_t>(documents_.begin_of(query) - first_key, 0),
                          std::min(query + 1 - first_key, keys)};
      const float factor = softmax(t_.scores + i * keys, t_.p + i * keys, seen, keys, t_.max[i], t_.sum[i]);
      if (factor == 1.0f) continue;
      float* __restrict o = t_.o + i * packing_.depth;
#pragma omp simd
      for (std::int64_t d = 0; d < packing_.depth; ++d) o[d] *= factor;
    }
  }

  void store_output() {
    bf16* o = static_cast<bf16*>(args_.o) + offset();
    float* log_sum_exp = args_.log_sum_exp + (batch_ * s_.heads + head_) * s_.seq + first_;
    for (std::int64_t i = 0; i < valid_; ++i) {
      log_sum_exp[i] = (t_.max[i] + std::log2(t_.sum[i])) * ln_2;
      unpack_rows(t_.o + i * packing_.depth, packing_.depth, 1, s_.head_dim, 1.0f / t_.sum[i], o + i * stride(),
                  stride());
    }
  }

  const AttentionForward& args_;
  const AttentionShape& s_;
  const Packing packing_;
  const Documents documents_;
  const std::int64_t batch_, head_, first_, rows_, valid_;
  ForwardBlock& t_;
};

}  // namespace

bool takes_onednn(const AttentionShape& shape) {
  return shape.dtype == DType::bf16 && gemm_input() == GemmInput::bf16;
}

void forward_by_onednn(const AttentionForward& args) {
  const AttentionShape& s = args.shape;
  const Packing packing(s);
  const std::int64_t blocks = ceil_div(s.seq, block_queries), units = s.batch * s.heads * blocks;
  auto* k = static_cast<bf16*>(args.workspace);
  bf16* v = k + s.batch * s.kv_heads * packing.head_size();
  pack_keys<bf16>(s, args.k, args.v, k, v);
  // As in attention_forward: neighbours share K and V, and the longest rows of a head come first.
  for_units<ForwardBlock>(units, [&](std::int64_t u, ForwardBlock& block) {
    const std::int64_t first = (blocks - 1 - u % blocks) * block_queries;
    const std::int64_t head = u / blocks % s.heads, batch = u / blocks / s.heads;
    const std::int64_t keys = (batch * s.kv_heads + head / (s.heads / s.kv_heads)) * packing.head_size();
    QueryBlock(args, batch, head, first, block).run(k + keys, v + keys);
  });
}

}  // namespace octet::cpu::attention
