#include "kernels/cuda/attention/attention_fallback.h"

#include "kernels/cuda/attention/attention_tiles.cuh"

namespace octet::cuda {
namespace attention {
namespace {

/// Running softmax of this thread's own rows; the 16 threads of a row hold the same values. In units of log2.
template <int D, int rows>
struct OnlineSoftmax {
  using Rows = Tile<D, rows>;
  float max[Rows::M], sum[Rows::M];

  __device__ OnlineSoftmax() {
#pragma unroll
    for (int i = 0; i < Rows::M; ++i) {
      max[i] = -__builtin_huge_valf();
      sum[i] = 0.0f;
    }
  }

  /// Scores to unnormalised probabilities; sum and o move to the new maximum. Every row has a key that is not above the
  /// diagonal in every tile, so the maximum is finite.
  __device__ void update(typename Rows::Scores& s, typename Rows::Accumulator& o) {
#pragma unroll
    for (int i = 0; i < Rows::M; ++i) {
      float now = max[i];
#pragma unroll
      for (int j = 0; j < Rows::M; ++j) now = fmaxf(now, s[i][j]);
#pragma unroll
      for (int distance = 8; distance > 0; distance /= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, distance));
      const float factor = exp2f(max[i] - now);
      max[i] = now;
      float total = 0.0f;
#pragma unroll
      for (int j = 0; j < Rows::M; ++j) {
        s[i][j] = exp2f(s[i][j] - now);
        total += s[i][j];
      }
#pragma unroll
      for (int distance = 8; distance > 0; distance /= 2) total += __shfl_xor_sync(~0u, total, distance);
      sum[i] = sum[i] * factor + total;
#pragma unroll
      for (int c = 0; c < Rows::chunks; ++c) {
#pragma unroll
        for (int e = 0; e < 4; ++e) o[i][c][e] *= factor;
      }
    }
  }
};

/// A block for the queries of one tile and head; the last ones, which have the most keys, come first.
template <typename T, int D, int rows>
__global__ void __launch_bounds__(threads, 1) forward_tiles(AttentionForward args) {
  using Rows = Tile<D, rows>;
  extern __shared__ __align__(16) float attention_memory[];
  float* q = attention_memory;
  float* kv = q + Rows::floats;  // a tile of k, then of v
  float* weights = kv + Rows::floats;

  const AttentionShape& s = args.shape;
  const std::int64_t batch = blockIdx.z, head = blockIdx.y, kv_head = head / (s.heads / s.kv_heads);
  const std::int64_t query_tile = gridDim.x - 1 - blockIdx.x, first = query_tile * rows;
  const Head<const T> k_head(static_cast<const T*>(args.k), s, s.kv_heads, batch, kv_head);
  const Head<const T> v_head(static_cast<const T*>(args.v), s, s.kv_heads, batch, kv_head);
  read_tile<D, rows>(Head<const T>(static_cast<const T*>(args.q), s, s.heads, batch, head), first, s.scale * log2_e, q);

  const Documents documents(args.documents.begin, s, batch);
  std::int64_t begin[Rows::M];  // rows beyond the sequence count as its last one
#pragma unroll
  for (int i = 0; i < Rows::M; ++i) begin[i] = documents.of(min(first + Rows::own(i), s.seq - 1));
  OnlineSoftmax<D, rows> softmax;
  typename Rows::Accumulator o = {};
  for (std::int64_t key_tile = documents.of(first) / rows; key_tile <= query_tile; ++key_tile) {
    __syncthreads();  // the last tile of v has been read
    read_tile<D, rows>(k_head, key_tile * rows, 1.0f, kv);
    __syncthreads();
    typename Rows::Scores p;
    inner_products<D, rows>(q, kv, p);
    if (key_tile == query_tile) {  // keys beyond the sequence come after all its queries
#pragma unroll
      for (int i = 0; i < Rows::M; ++i) {
#pragma unroll
        for (int j = 0; j < Rows::M; ++j) {
          if (Rows::other(j) > Rows::own(i)) p[i][j] = -__builtin_huge_valf();
        }
      }
    }
    if (begin[Rows::M - 1] > key_tile * rows) {  // those before it begin no later
#pragma unroll
      for (int i = 0; i < Rows::M; ++i) {
#pragma unroll
        for (int j = 0; j < Rows::M; ++j) {
          if (key_tile * rows + Rows::other(j) < begin[i]) p[i][j] = masked;
        }
      }
    }
    softmax.update(p, o);
    put_weights<D, rows>(p, weights);
    __syncthreads();  // the tile of k has been read
    read_tile<D, rows>(v_head, key_tile * rows, 1.0f, kv);
    __syncthreads();
    accumulate<D, rows>(weights, kv, o);
  }

  float inverse[Rows::M];
#pragma unroll
  for (int i = 0; i < Rows::M; ++i) {
    inverse[i] = 1.0f / softmax.sum[i];
    const std::int64_t row = first + Rows::own(i);
    if (Rows::x() == 0 && row < s.seq) {
      args.log_sum_exp[(batch * s.heads + head) * s.seq + row] = (softmax.max[i] + log2f(softmax.sum[i])) * ln_2;
    }
  }
  write_rows<D, rows>(Head<T>(static_cast<T*>(args.o), s, s.heads, batch, head), first, o, inverse);
}

}  // namespace
}  // namespace attention

/// 2 · batch · heads · seq² · head_dim operations with the mask's half left out; k and v are read once for each tile of
/// queries.
void fallback_attention_forward(Stream& stream, const AttentionForward& args) {
  using namespace attention;
  const AttentionShape& s = args.shape;
  if (s.batch * s.seq == 0) return;
  dispatch_storage(s.dtype, [&]<typename T>(T) {
    dispatch_head_dim(s, [&]<int D>(std::integral_constant<int, D>) {
      dispatch_rows<forward_rows, forward_shared<D, forward_rows>>([&]<int B>(std::integral_constant<int, B>) {
        allow_shared_memory(forward_tiles<T, D, B>, forward_shared<D, B>);
        const dim3 blocks(static_cast<unsigned>(ceil_div(s.seq, B)), static_cast<unsigned>(s.heads),
                          static_cast<unsigned>(s.batch));
        forward_tiles<T, D, B><<<blocks, threads, forward_shared<D, B>, native(stream)>>>(args);
        check_launch("attention_forward");
      });
    });
  });
}

}  // namespace octet::cuda
