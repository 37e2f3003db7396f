#include "kernels/cuda/attention/attention_fallback.h"
#include "kernels/cuda/attention/attention_tiles.cuh"
#include "kernels/cuda/device/row_reduce.cuh"

namespace octet::cuda {
namespace attention {
namespace {

constexpr int delta_warps = 8;

/// delta[batch, heads, seq] = Σ o · d_o of each query and head, a warp each.
template <typename T>
__global__ void __launch_bounds__(delta_warps * 32) sum_delta(AttentionBackward args) {
  const AttentionShape& s = args.shape;
  const std::int64_t row = std::int64_t{blockIdx.x} * delta_warps + threadIdx.x / 32;  // of [batch, seq, heads]
  if (row >= s.batch * s.seq * s.heads) return;
  const T* o = static_cast<const T*>(args.o) + row * s.head_dim;
  const T* d_o = static_cast<const T*>(args.d_o) + row * s.head_dim;
  float sum = 0.0f;
  for (std::int64_t d = threadIdx.x % 32; d < s.head_dim; d += 32) sum = fmaf(to_float(o[d]), to_float(d_o[d]), sum);
  sum = warp_sum(sum);
  const std::int64_t head = row % s.heads, query = row / s.heads % s.seq, batch = row / s.heads / s.seq;
  if (threadIdx.x % 32 == 0) {
    static_cast<float*>(args.workspace)[(batch * s.heads + head) * s.seq + query] = sum;
  }
}

/// One score to p and dp to ds = p (dp - delta); both are 0 where masked and beyond the sequence.
struct QueryRow {
  std::int64_t query, begin = 0;
  float log2_sum = 0.0f, delta = 0.0f;
  bool exists;

  __device__ QueryRow(const AttentionBackward& args, const Documents& documents, std::int64_t batch_head,
                      std::int64_t row)
      : query(row), exists(row < args.shape.seq) {
    if (!exists) return;
    begin = documents.of(row);
    log2_sum = args.log_sum_exp[batch_head * args.shape.seq + row] * log2_e;
    delta = static_cast<const float*>(args.workspace)[batch_head * args.shape.seq + row];
  }
  __device__ void softmax_backward(std::int64_t key, float& s, float& dp) const {
    const bool counts = exists && key <= query && key >= begin;
    s = counts ? exp2f(s - log2_sum) : 0.0f;
    dp = counts ? s * (dp - delta) : 0.0f;
  }
};

/// A block for the dq of a tile of queries of one head. Sums over the keys in order.
template <typename T, int D, int rows>
__global__ void __launch_bounds__(threads, 1) query_gradients(AttentionBackward args) {
  using Rows = Tile<D, rows>;
  extern __shared__ __align__(16) float attention_memory[];
  float* q = attention_memory;
  float* d_o = q + Rows::floats;
  float* k = d_o + Rows::floats;
  float* v = k + Rows::floats;
  float* weights = v + Rows::floats;

  const AttentionShape& s = args.shape;
  const std::int64_t batch = blockIdx.z, head = blockIdx.y, kv_head = head / (s.heads / s.kv_heads);
  const std::int64_t query_tile = gridDim.x - 1 - blockIdx.x, first = query_tile * rows;
  const Head<const T> k_head(static_cast<const T*>(args.k), s, s.kv_heads, batch, kv_head);
  const Head<const T> v_head(static_cast<const T*>(args.v), s, s.kv_heads, batch, kv_head);
  read_tile<D, rows>(Head<const T>(static_cast<const T*>(args.q), s, s.heads, batch, head), first, s.scale * log2_e, q);
  read_tile<D, rows>(Head<const T>(static_cast<const T*>(args.d_o), s, s.heads, batch, head), first, 1.0f, d_o);

  const Documents documents(args.documents.begin, s, batch);
  typename Rows::Accumulator dq = {};
  for (std::int64_t key_tile = documents.of(first) / rows; key_tile <= query_tile; ++key_tile) {
    __syncthreads();  // the last tiles have been read
    read_tile<D, rows>(k_head, key_tile * rows, 1.0f, k);
    read_tile<D, rows>(v_head, key_tile * rows, 1.0f, v);
    __syncthreads();
    typename Rows::Scores p, ds;
    inner_products<D, rows>(q, k, p);
    inner_products<D, rows>(d_o, v, ds);
#pragma unroll
    for (int i = 0; i < Rows::M; ++i) {
      const QueryRow query(args, documents, batch * s.heads + head, first + Rows::own(i));
#pragma unroll
      for (int j = 0; j < Rows::M; ++j) {
        query.softmax_backward(key_tile * rows + Rows::other(j), p[i][j], ds[i][j]);
      }
    }
    put_weights<D, rows>(ds, weights);
    __syncthreads();
    accumulate<D, rows>(weights, k, dq);
  }
  float factor[Rows::M];
#pragma unroll
  for (int i = 0; i < Rows::M; ++i) factor[i] = s.scale;
  write_rows<D, rows>(Head<T>(static_cast<T*>(args.dq), s, s.heads, batch, head), first, dq, factor);
}

/// A block for the dk and dv of a tile of keys of one kv head. Sums over the heads of the group in order, and in each
/// over the queries in order.
template <typename T, int D, int rows>
__global__ void __launch_bounds__(threads, 1) key_gradients(AttentionBackward args) {
  using Rows = Tile<D, rows>;
  extern __shared__ __align__(16) float attention_memory[];
  float* k = attention_memory;
  float* v = k + Rows::floats;
  float* q = v + Rows::floats;
  float* d_o = q + Rows::floats;
  float* p_weights = d_o + Rows::floats;
  float* ds_weights = p_weights + Rows::weight_floats;

  const AttentionShape& s = args.shape;
  const std::int64_t batch = blockIdx.z, kv_head = blockIdx.y, group = s.heads / s.kv_heads;
  const std::int64_t key_tile = blockIdx.x, tiles = gridDim.x,
                     first = key_tile * rows;  // the first has most queries
  read_tile<D, rows>(Head<const T>(static_cast<const T*>(args.k), s, s.kv_heads, batch, kv_head), first, 1.0f, k);
  read_tile<D, rows>(Head<const T>(static_cast<const T*>(args.v), s, s.kv_heads, batch, kv_head), first, 1.0f, v);

  const Documents documents(args.documents.begin, s, batch);
  typename Rows::Accumulator dk = {}, dv = {};
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    const Head<const T> q_head(static_cast<const T*>(args.q), s, s.heads, batch, head);
    const Head<const T> do_head(static_cast<const T*>(args.d_o), s, s.heads, batch, head);
    for (std::int64_t query_tile = key_tile; query_tile < tiles; ++query_tile) {
      if (documents.of(query_tile * rows) >= first + rows) break;  // nor do later queries see these keys
      __syncthreads();                                             // the last tiles have been read
      read_tile<D, rows>(q_head, query_tile * rows, s.scale * log2_e, q);
      read_tile<D, rows>(do_head, query_tile * rows, 1.0f, d_o);
      __syncthreads();
      typename Rows::Scores p, ds;
      inner_products<D, rows>(k, q, p);
      inner_products<D, rows>(v, d_o, ds);
#pragma unroll
      for (int j = 0; j < Rows::M; ++j) {
        const QueryRow query(args, documents, batch * s.heads + head, query_tile * rows + Rows::other(j));
#pragma unroll
        for (int i = 0; i < Rows::M; ++i) query.softmax_backward(first + Rows::own(i), p[i][j], ds[i][j]);
      }
      put_weights<D, rows>(p, p_weights);
      put_weights<D, rows>(ds, ds_weights);
      __syncthreads();
      accumulate<D, rows>(p_weights, d_o, dv);
      accumulate<D, rows>(ds_weights, q, dk);
    }
  }
  float one[Rows::M], undo[Rows::M];  // q carries scale · log2 e; dk wants scale
#pragma unroll
  for (int i = 0; i < Rows::M; ++i) {
    one[i] = 1.0f;
    undo[i] = ln_2;
  }
  write_rows<D, rows>(Head<T>(static_cast<T*>(args.dk), s, s.kv_heads, batch, kv_head), first, dk, undo);
  write_rows<D, rows>(Head<T>(static_cast<T*>(args.dv), s, s.kv_heads, batch, kv_head), first, dv, one);
}

template <typename T, int D, int B>
void backward(const AttentionBackward& args, cudaStream_t stream) {
  const AttentionShape& s = args.shape;
  const auto tiles = static_cast<unsigned>(ceil_div(s.seq, B)), batch = static_cast<unsigned>(s.batch);
  const auto deltas = static_cast<unsigned>(ceil_div(s.batch * s.seq * s.heads, delta_warps));
  sum_delta<T><<<deltas, delta_warps * 32, 0, stream>>>(args);
  check_launch("attention_backward: delta");
  allow_shared_memory(query_gradients<T, D, B>, backward_shared<D, B>);
  const dim3 query_blocks(tiles, static_cast<unsigned>(s.heads), batch);
  query_gradients<T, D, B><<<query_blocks, threads, backward_shared<D, B>, stream>>>(args);
  check_launch("attention_backward: dq");
  allow_shared_memory(key_gradients<T, D, B>, backward_shared<D, B>);
  const dim3 key_blocks(tiles, static_cast<unsigned>(s.kv_heads), batch);
  key_gradients<T, D, B><<<key_blocks, threads, backward_shared<D, B>, stream>>>(args);
  check_launch("attention_backward: dk, dv");
}

}  // namespace
}  // namespace attention

std::int64_t fallback_attention_backward_workspace(const AttentionShape& s) {
  return s.batch * s.heads * s.seq * static_cast<std::int64_t>(sizeof(float));
}

/// 7 · batch · heads · seq² · head_dim operations with the mask's half left out (q kᵀ and d_o vᵀ twice).
void fallback_attention_backward(Stream& stream, const AttentionBackward& args) {
  const AttentionShape& s = args.shape;
  if (s.batch * s.seq == 0) return;
  dispatch_storage(s.dtype, [&]<typename T>(T) {
    attention::dispatch_head_dim(s, [&]<int D>(std::integral_constant<int, D>) {
      constexpr int rows = attention::backward_rows<D>;
      attention::dispatch_rows<rows, attention::backward_shared<D, rows>>(
          [&]<int B>(std::integral_constant<int, B>) { attention::backward<T, D, B>(args, native(stream)); });
    });
  });
}

}  // namespace octet::cuda
