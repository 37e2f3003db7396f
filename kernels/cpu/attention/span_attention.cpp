#include "kernels/span_attention.h"

#include <cmath>
#include <limits>
#include <memory>

#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/attention/span_keys.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/vector.h"
#include "src/base/round_up.h"

/// All query heads of a key/value head and several queries are the rows of a tile, which passes over the keys once.
/// Where there are few tiles, as for a token that is generated, each passes over parts of the keys, and the parts are
/// put together at the end.
namespace octet::cpu {
namespace attention {
namespace {

constexpr std::int64_t part_keys = 512, enough_units = 32;

/// How the work is divided; it follows from the shape.
struct Division {
  std::int64_t group, row_tiles, units, parts;
  explicit Division(const SpanAttentionShape& s)
      : group(s.heads / std::max<std::int64_t>(1, s.kv_heads)),
        row_tiles(ceil_div(s.queries * group, tile)),
        units(row_tiles * s.kv_heads),
        parts(units < enough_units ? std::max<std::int64_t>(1, ceil_div(s.keys, part_keys)) : 1) {
    if (s.head_dim > max_head_dim) {
      throw usage_error("kernels", "attention: head_dim {}, on the CPU at most {}", s.head_dim, max_head_dim);
    }
  }
};

/// What a part of the keys gives to a row: [queries, heads, parts] of it lie in the workspace. Where the row sees no
/// key of the part, sum is 0 and o is not written.
struct PartialRow {
  float* max;
  float* sum;
  float* o;  ///< [head_dim], not yet divided by a sum
};
PartialRow partial_row(const SpanAttention& args, const Division& by, std::int64_t query, std::int64_t head,
                       std::int64_t part) {
  const SpanAttentionShape& s = args.shape;
  const std::int64_t at = (query * s.heads + head) * by.parts + part;
  float* row = static_cast<float*>(args.workspace) + at * (s.head_dim + 2);
  return {row, row + 1, row + 2};
}

/// The rows of a tile: of all queries and, within each, of all heads of one key/value head, `count` from `first` on.
struct Rows {
  std::int64_t kv_head, group, first, count;
  std::int64_t query(std::int64_t i) const { return (first + i) / group; }
  std::int64_t head(std::int64_t i) const { return kv_head * group + (first + i) % group; }
  /// With whole vectors of rows.
  std::int64_t columns() const { return round_up(count, lanes); }
};

/// One thread's tiles. Scores are in units of log2, so that exp2 serves.
struct alignas(64) SpanScratch {
  float q[max_head_dim * tile];                          ///< [head_dim, row], times scale · log2 e
  float o[max_head_dim * tile];                          ///< [head_dim, row], not yet divided by sum
  float k[tile * max_head_dim], v[tile * max_head_dim];  ///< [key, head_dim]
  float scores[tile * tile];                             ///< [key, row], then the probabilities
  float max[tile], sum[tile];                            ///< of each row so far
  alignas(64) std::int32_t spans[4][tile];
  std::int32_t keys[tile];
};

/// The score of a key that another row of the tile sees. It is finite, so that a row all of whose keys so far were such
/// ones has a maximum; its first own key takes what they left, times zero.
constexpr float unseen = -1e30f;

template <typename T>
void read_queries(const SpanAttention& args, const Rows& rows, SpanScratch& t) {
  const SpanAttentionShape& s = args.shape;
  const float factor = s.scale * log2_e;
  for (std::int64_t i = 0; i < rows.columns(); ++i) {
    const bool inside = i < rows.count;
    const T* q =
        inside ? static_cast<const T*>(args.q) + (rows.query(i) * s.heads + rows.head(i)) * s.head_dim : nullptr;
    for (std::int64_t d = 0; d < s.head_dim; ++d) t.q[d * tile + i] = inside ? static_cast<float>(q[d]) * factor : 0.0f;
    for (std::int64_t j = 0; j < 4; ++j) t.spans[j][i] = inside ? args.spans[4 * rows.query(i) + j] : 0;
    t.max[i] = -std::numeric_limits<float>::infinity();
    t.sum[i] = 0.0f;
  }
  for (std::int64_t d = 0; d < s.head_dim; ++d) std::fill(t.o + d * tile, t.o + d * tile + rows.columns(), 0.0f);
}

/// Rows `keys` [n] of one head of x [keys, kv_heads, head_dim] to fp32 [n, head_dim].
template <typename T>
void read_keys(const SpanAttentionShape& s, const void* x, std::int64_t kv_head, const std::int32_t* keys,
               std::int64_t n, float* packed) {
  for (std::int64_t i = 0; i < n; ++i) {
    convert_loop(static_cast<const T*>(x) + (keys[i] * s.kv_heads + kv_head) * s.head_dim, packed + i * s.head_dim,
                 s.head_dim);
  }
}

void mask(SpanScratch& t, std::int64_t keys, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; c += lanes) {
    Integers span[4];
    for (int j = 0; j < 4; ++j) span[j] = *reinterpret_cast<const Integers*>(t.spans[j] + c);
    for (std::int64_t k = 0; k < keys; ++k) {
      const Integers key = Integers{} + t.keys[k];
      const Integers seen = ((key >= span[0]) & (key < span[1])) | ((key >= span[2]) & (key < span[3]));
      float* score = t.scores + k * tile + c;
      store(score, seen != 0 ? load(score) : broadcast(unseen));
    }
  }
}

/// Scores to unnormalised probabilities; max, sum and o move to the new maximum (online softmax).
void softmax(SpanScratch& t, std::int64_t keys, std::int64_t columns, std::int64_t head_dim) {
  for (std::int64_t c = 0; c < columns; c += lanes) {
    const Vector before = load(t.max + c);
    Vector now = before;
    for (std::int64_t k = 0; k < keys; ++k) now = max(load(t.scores + k * tile + c), now);
    const Vector factor = exp2(before - now);
    Vector sum = load(t.sum + c) * factor;
    for (std::int64_t k = 0; k < keys; ++k) {
      const Vector p = exp2(load(t.scores + k * tile + c) - now);
      store(t.scores + k * tile + c, p);
      sum += p;
    }
    store(t.max + c, now);
    store(t.sum + c, sum);
    for (std::int64_t d = 0; d < head_dim; ++d) store(t.o + d * tile + c, load(t.o + d * tile + c) * factor);
  }
}

/// Whether the row sees keys of [begin, end).
bool sees(const SpanScratch& t, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const auto meets = [&](int span) {
    return std::max<std::int64_t>(t.spans[span][row], begin) < std::min<std::int64_t>(t.spans[span + 1][row], end);
  };
  return meets(0) || meets(2);
}

/// A tile's rows over the keys [begin, end). False, and nothing in t: none sees any of them.
template <typename T>
bool pass(const SpanAttention& args, const Rows& rows, std::int64_t begin, std::int64_t end, SpanScratch& t) {
  const SpanAttentionShape& s = args.shape;
  const std::int64_t first = rows.query(0), queries = rows.query(rows.count - 1) + 1 - first;
  SpanKeys keys(args.spans + 4 * first, queries, begin, end);
  std::int64_t n = keys.next(t.keys, tile);
  if (n == 0) return false;
  read_queries<T>(args, rows, t);
  for (; n > 0; n = keys.next(t.keys, tile)) {
    read_keys<T>(s, args.k, rows.kv_head, t.keys, n, t.k);
    product<false, Causal::none>(t.k, s.head_dim, t.q, tile, t.scores, tile, n, rows.columns(), s.head_dim, false);
    if (!keys.uniform()) mask(t, n, rows.columns());
    softmax(t, n, rows.columns(), s.head_dim);
    read_keys<T>(s, args.v, rows.kv_head, t.keys, n, t.v);
    product<true, Causal::none>(t.v, s.head_dim, t.scores, tile, t.o, tile, s.head_dim, rows.columns(), n, true);
  }
  return true;
}

template <typename T>
void write_output(const SpanAttention& args, const Rows& rows, const SpanScratch& t) {
  const SpanAttentionShape& s = args.shape;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    if (!sees(t, i, 0, s.keys)) continue;
    T* o = static_cast<T*>(args.o) + (rows.query(i) * s.heads + rows.head(i)) * s.head_dim;
    const float factor = 1.0f / t.sum[i];
    for (std::int64_t d = 0; d < s.head_dim; ++d) cpu::store(o[d], t.o[d * tile + i] * factor);
  }
}

void write_part(const SpanAttention& args, const Division& by, const Rows& rows, std::int64_t part, bool any,
                const SpanScratch& t) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const PartialRow to = partial_row(args, by, rows.query(i), rows.head(i), part);
    const bool seen = any && sees(t, i, part * part_keys, (part + 1) * part_keys);
    *to.max = t.max[i];
    *to.sum = seen ? t.sum[i] : 0.0f;
    for (std::int64_t d = 0; seen && d < args.shape.head_dim; ++d) to.o[d] = t.o[d * tile + i];
  }
}

/// A row's parts, in their order.
template <typename T>
void join_parts(const SpanAttention& args, const Division& by, std::int64_t query, std::int64_t head) {
  const SpanAttentionShape& s = args.shape;
  float most = -std::numeric_limits<float>::infinity(), sum = 0.0f;
  for (std::int64_t p = 0; p < by.parts; ++p) {
    const PartialRow row = partial_row(args, by, query, head, p);
    if (*row.sum != 0.0f) most = std::max(most, *row.max);
  }
  float o[max_head_dim] = {};
  for (std::int64_t p = 0; p < by.parts; ++p) {
    const PartialRow row = partial_row(args, by, query, head, p);
    if (*row.sum == 0.0f) continue;
    const float factor = std::exp2(*row.max - most);
    sum += *row.sum * factor;
#pragma omp simd
    for (std::int64_t d = 0; d < s.head_dim; ++d) o[d] += row.o[d] * factor;
  }
  if (sum == 0.0f) return;  // it sees no key
  T* to = static_cast<T*>(args.o) + (query * s.heads + head) * s.head_dim;
  for (std::int64_t d = 0; d < s.head_dim; ++d) cpu::store(to[d], o[d] / sum);
}

template <typename T>
void attend(const SpanAttention& args) {
  const SpanAttentionShape& s = args.shape;
  const Division by(s);
  const std::int64_t units = by.units * by.parts;
#pragma omp parallel if (units > 1)
  {
    const auto scratch = std::make_unique_for_overwrite<SpanScratch>();
    // Neighbouring units share K and V in the cache.
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t u = 0; u < units; ++u) {
      const std::int64_t row_tile = u % by.row_tiles, kv_head = u / by.row_tiles % s.kv_heads, part = u / by.units;
      const std::int64_t first = row_tile * tile;
      const Rows rows{kv_head, by.group, first, std::min(tile, s.queries * by.group - first)};
      const std::int64_t begin = by.parts == 1 ? 0 : part * part_keys, end = by.parts == 1 ? s.keys : begin + part_keys;
      const bool any = pass<T>(args, rows, begin, end, *scratch);
      if (by.parts > 1) {
        write_part(args, by, rows, part, any, *scratch);
      } else if (any) {
        write_output<T>(args, rows, *scratch);
      }
    }
    if (by.parts > 1) {
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < s.queries * s.heads; ++row)
        join_parts<T>(args, by, row / s.heads, row % s.heads);
    }
  }
}

}  // namespace
}  // namespace attention

std::int64_t span_attention_workspace(const SpanAttention& args) {
  const SpanAttentionShape& s = args.shape;
  const attention::Division by(s);
  return by.parts == 1 ? 0 : s.queries * s.heads * by.parts * (s.head_dim + 2) * size_of(DType::f32);
}

void span_attention(Stream&, const SpanAttention& args) {
  check_operands(args);
  args.shape.dtype == DType::f32 ? attention::attend<float>(args) : attention::attend<bf16>(args);
}

}  // namespace octet::cpu
