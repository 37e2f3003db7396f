#include "kernels/embedding.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/vector.cuh"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/layers/token_sort.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int slices = 2;  // of 32 packs of a row, that a warp adds
constexpr int unroll = 2;  // rows of one token under way in a warp

template <typename Arguments>
TokenRange rows_of(const Arguments& args) {
  return {.begin = static_cast<std::int32_t>(args.vocab_begin), .count = static_cast<std::int32_t>(args.vocab)};
}

/// A warp copies one row, in units of 16 bytes where possible, else of one element.
template <typename Unit>
__global__ void __launch_bounds__(threads) gather_rows(EmbeddingForward args, TokenRange range, std::int64_t units) {
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  if (i >= args.n) return;
  const std::int32_t row = range.row(args.tokens[i]);  // one for the warp
  Unit* __restrict__ to = static_cast<Unit*>(args.out) + i * units;
  if (row == range.count) {
    for (std::int64_t j = threadIdx.x % 32; j < units; j += 32) to[j] = Unit{};
    return;
  }
  const Unit* __restrict__ from = static_cast<const Unit*>(args.table) + row * units;
#pragma unroll 4
  for (std::int64_t j = threadIdx.x % 32; j < units; j += 32) to[j] = from[j];
}

template <typename Unit>
void gather(const EmbeddingForward& args, std::int64_t row_bytes, cudaStream_t stream) {
  gather_rows<Unit><<<static_cast<unsigned>(ceil_div(args.n, warps)), threads, 0, stream>>>(
      args, rows_of(args), row_bytes / static_cast<std::int64_t>(sizeof(Unit)));
  check_launch("embedding_forward");
}

/// Row `source` of d_out from `column` on, V values.
template <typename T, int V>
struct Values {
  T v[V];
  __device__ static Values read(const T* p) {
    Values values;
    if constexpr (V == Pack<T>::size) {
      const Pack<T> pack = load(p);
#pragma unroll
      for (int j = 0; j < V; ++j) values.v[j] = pack.v[j];
    } else {
      values.v[0] = *p;
    }
    return values;
  }
};

/// d_table's part of a row, V floats: in fours where V is a multiple of 4.
template <int V>
__device__ __forceinline__ void read_sum(const float* p, float (&sum)[V]) {
#pragma unroll
  for (int j = 0; j < V; j += V == 1 ? 1 : 4) {
    if constexpr (V == 1) {
      sum[j] = *p;
    } else {
      const Pack<float> pack = load_mutable(p + j);
#pragma unroll
      for (int k = 0; k < 4; ++k) sum[j + k] = pack.v[k];
    }
  }
}
template <int V>
__device__ __forceinline__ void write_sum(float* p, const float (&sum)[V]) {
#pragma unroll
  for (int j = 0; j < V; j += V == 1 ? 1 : 4) {
    if constexpr (V == 1) {
      *p = sum[j];
    } else {
      store(p + j, Pack<float>{sum[j], sum[j + 1], sum[j + 2], sum[j + 3]});
    }
  }
}

/// `order` holds the positions by row and position. A warp for each of them and each `slices` · 32 · V columns; the
/// warps of a token's first position add all rows of that token to d_table, the others have nothing to do. All lanes of
/// a warp take the same branches, those beyond dim without reading or writing. A warp knows what to add only after two
/// loads, the second of which depends on the first, as every lane looks at a position of its own; so it should then
/// have much to add.
template <typename T, int V>
__global__ void __launch_bounds__(threads, 3)
    add_rows(EmbeddingBackward args, TokenRange range, const std::int32_t* order) {
  const unsigned lane = threadIdx.x % 32;
  const std::int64_t head = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  if (head >= args.n) return;
  // Lane 0 has the position before, lane 1 the first, and so on.
  const std::int64_t at = head - 1 + lane;
  const bool exists = at >= 0 && at < args.n;
  std::int32_t position = exists ? order[at] : 0;
  const std::int32_t seen = exists ? args.tokens[position] : -1;
  const std::int32_t token = __shfl_sync(~0u, seen, 1), row = range.row(token);
  if (row == range.count || __shfl_sync(~0u, seen, 0) == token) return;

  const std::int64_t column = (std::int64_t{blockIdx.y} * slices * 32 + lane) * V;
  const auto inside = [&](int s) { return column + s * 32 * V < args.dim; };
  const T* d_out = static_cast<const T*>(args.d_out) + column;
  float* d_row = args.d_table + row * args.dim + column;
  float sum[slices][V] = {};
#pragma unroll
  for (int s = 0; s < slices; ++s) {
    if (inside(s) && args.accumulate) read_sum<V>(d_row + s * 32 * V, sum[s]);
  }
  position = __shfl_down_sync(~0u, position, 1);
  // How many of the lanes' positions, which are the first ones, as they are sorted.
  int looked_at = 31, count = __popc(__ballot_sync(~0u, lane > 0 && seen == token));
  for (std::int64_t next = head + 31;; next += 32) {
    for (int r = 0; r < count; r += unroll) {
      Values<T, V> rows[unroll][slices];
#pragma unroll
      for (int j = 0; j < unroll; ++j) {
        const std::int64_t source = __shfl_sync(~0u, position, r + j);
#pragma unroll
        for (int s = 0; s < slices; ++s) {
          if (inside(s) && r + j < count) rows[j][s] = Values<T, V>::read(d_out + source * args.dim + s * 32 * V);
        }
      }
#pragma unroll
      for (int j = 0; j < unroll; ++j) {
#pragma unroll
        for (int s = 0; s < slices; ++s) {
          if (!inside(s) || r + j >= count) continue;
#pragma unroll
          for (int k = 0; k < V; ++k) sum[s][k] += to_float(rows[j][s].v[k]);
        }
      }
    }
    if (count < looked_at) break;
    looked_at = 32;
    const bool there = next + lane < args.n;
    position = there ? order[next + lane] : 0;
    count = __popc(__ballot_sync(~0u, there && args.tokens[position] == token));
  }
#pragma unroll
  for (int s = 0; s < slices; ++s) {
    if (inside(s)) write_sum<V>(d_row + s * 32 * V, sum[s]);
  }
}

template <typename T, int V>
void add(const EmbeddingBackward& args, const std::int32_t* order, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(ceil_div(args.n, warps)),
                    static_cast<unsigned>(ceil_div(args.dim, slices * 32 * V)));
  add_rows<T, V><<<blocks, threads, 0, stream>>>(args, rows_of(args), order);
  check_launch("embedding_backward");
}

}  // namespace

/// Must move n · dim · sizeof(dtype) twice.
void embedding_forward(Stream& stream, const EmbeddingForward& args) {
  if (args.n == 0) return;
  const std::int64_t row_bytes = args.dim * size_of(args.dtype);
  if (aligned_to_16(row_bytes, args.table, args.out)) {
    gather<int4>(args, row_bytes, native(stream));
  } else if (size_of(args.dtype) == 4) {
    gather<std::uint32_t>(args, row_bytes, native(stream));
  } else {
    gather<std::uint16_t>(args, row_bytes, native(stream));
  }
}

std::int64_t embedding_backward_workspace(const EmbeddingBackward& args) {
  return token_sort_workspace(args.n);
}

/// Must move n · dim · sizeof(dtype) and, for each distinct token, dim floats written (and read, to accumulate);
/// without `accumulate` also vocab · dim floats of zeros, which is most of it for a large vocabulary.
void embedding_backward(Stream& stream, const EmbeddingBackward& args) {
  if (!args.accumulate) {
    const auto bytes = static_cast<std::size_t>(args.vocab * args.dim) * sizeof(float);
    check(cudaMemsetAsync(args.d_table, 0, bytes, native(stream)), "zeroing the embedding's gradient");
  }
  if (args.n == 0) return;
  const std::int32_t* order = sort_tokens(
      {.tokens = args.tokens, .n = args.n, .range = rows_of(args), .workspace = args.workspace}, native(stream));
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    if (aligned_to_16(args.dim * static_cast<std::int64_t>(sizeof(T)), args.d_out, args.d_table)) {
      add<T, Pack<T>::size>(args, order, native(stream));
    } else {
      add<T, 1>(args, order, native(stream));
    }
  });
}

}  // namespace octet::cuda
