#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/rmsnorm.cuh"
#include "kernels/cuda/row_reduce.cuh"
#include "kernels/cuda/stats_fold.cuh"
#include "kernels/rmsnorm.h"

namespace octet::cuda {
namespace {

using namespace rmsnorm;

constexpr int few_threads = 256;  // blocks with registers to spare
constexpr int combine_columns = 32, combine_parts = 32;

/// Rows of one block and of one partial d_weight, a function of the number of rows alone: three blocks for each of an
/// H100's multiprocessors, and partials that are few beside the rows (32 rows: one float to 64 bf16 moved).
constexpr std::int64_t rows_of_block(std::int64_t rows) {
  return std::clamp<std::int64_t>(ceil_div(rows, 3 * 132), 4, 32);
}
constexpr std::int64_t blocks_of(std::int64_t rows) {
  return ceil_div(rows, rows_of_block(rows));
}

/// The CPU kernel's arithmetic. With r = inverse_rms and c = r²/dim · Σ dy·w·x:
/// dx = d_residual + r · (dy·w - x·c), d_weight += dy · (x · r).
struct Row {
  float r, c;
  __device__ Row(float inverse_rms, float dot, std::int64_t dim)
      : r(inverse_rms), c(dot * inverse_rms * inverse_rms / static_cast<float>(dim)) {}
  __device__ float dx(float dy, float w, float x) const { return r * (dy * w - x * c); }
  __device__ float d_weight(float dy, float x) const { return dy * (x * r); }
};

/// A block's rows one after the other, each in registers, P packs a thread, and d_weight in registers beside them.
template <typename T, int P, int most>
__global__ void __launch_bounds__(most, 1) backward_packs(RmsNormBackward args, std::int64_t rows_a_block) {
  __shared__ float warps[32];
  constexpr int size = Pack<T>::size;
  // Where registers do not allow it, d_residual is read later than the rest of the row and x a second time.
  constexpr bool early_residual = most <= few_threads, keep_x = P <= 4;
  const int packs = static_cast<int>(args.dim / size);
  const std::int64_t end = min(args.rows, (blockIdx.x + std::int64_t{1}) * rows_a_block);
  float d_weight[P][size] = {};
  StatsFold fold;
  for (std::int64_t row = blockIdx.x * rows_a_block; row < end; ++row) {
    const std::int64_t first = row * args.dim;
    const T* d_residual = args.d_residual == nullptr ? nullptr : static_cast<const T*>(args.d_residual) + first;
    const T* x_row = static_cast<const T*>(args.x) + first;
    Pack<T> dy[P], x[keep_x ? P : 1], d[early_residual ? P : 1];
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) >= packs) continue;
      dy[p] = load_mutable(static_cast<const T*>(args.dy) + first + pack_index(p) * size);
      if constexpr (keep_x) x[p] = load(x_row + pack_index(p) * size);
      if constexpr (early_residual) {
        if (d_residual != nullptr) d[p] = load_mutable(d_residual + pack_index(p) * size);
      }
    }
    float dot = 0.0f;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) >= packs) continue;
      const Pack<T> w = load(static_cast<const T*>(args.weight) + pack_index(p) * size);
      const Pack<T> v = keep_x ? x[keep_x ? p : 0] : load(x_row + pack_index(p) * size);
#pragma unroll
      for (int j = 0; j < size; ++j) dot += to_float(dy[p].v[j]) * to_float(w.v[j]) * to_float(v.v[j]);
    }
    const Row now(args.inverse_rms[row], block_sum(dot, warps), args.dim);
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) >= packs) continue;
      const Pack<T> w = load(static_cast<const T*>(args.weight) + pack_index(p) * size);
      const Pack<T> x_pack = keep_x ? x[keep_x ? p : 0] : load(x_row + pack_index(p) * size);
      Pack<T> out;
      if constexpr (early_residual) {
        out = d[p];
      } else {
        if (d_residual != nullptr) out = load_mutable(d_residual + pack_index(p) * size);
      }
#pragma unroll
      for (int j = 0; j < size; ++j) {
        const float g = to_float(dy[p].v[j]), v = to_float(x_pack.v[j]);
        float dx = now.dx(g, to_float(w.v[j]), v);
        if (d_residual != nullptr) dx = to_float(out.v[j]) + dx;
        d_weight[p][j] += now.d_weight(g, v);
        out.v[j] = from_float<T>(dx);
        fold.add(to_float(out.v[j]));
      }
      store(static_cast<T*>(args.dx) + first + pack_index(p) * size, out);
    }
  }
  float* partial = static_cast<float*>(args.workspace) + blockIdx.x * args.dim;
#pragma unroll
  for (int p = 0; p < P; ++p) {
    if (pack_index(p) >= packs) continue;
#pragma unroll
    for (int j = 0; j < size; j += 4) {
      const float* d = d_weight[p] + j;
      *reinterpret_cast<float4*>(partial + pack_index(p) * size + j) = {d[0], d[1], d[2], d[3]};
    }
  }
  fold.publish(args.stats);
}

/// Any dim and alignment: element by element, d_weight summed in the workspace, each column by one thread.
template <typename T>
__global__ void __launch_bounds__(threads_any) backward_any(RmsNormBackward args, std::int64_t rows_a_block) {
  __shared__ float warps[32];
  const T* weight = static_cast<const T*>(args.weight);
  float* partial = static_cast<float*>(args.workspace) + blockIdx.x * args.dim;
  const std::int64_t begin = blockIdx.x * rows_a_block, end = min(args.rows, begin + rows_a_block);
  StatsFold fold;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t first = row * args.dim;
    const T* dy = static_cast<const T*>(args.dy) + first;
    const T* x = static_cast<const T*>(args.x) + first;
    const T* d_residual = args.d_residual == nullptr ? nullptr : static_cast<const T*>(args.d_residual) + first;
    float dot = 0.0f;
    for (std::int64_t i = threadIdx.x; i < args.dim; i += threads_any) {
      dot += to_float(dy[i]) * to_float(weight[i]) * to_float(x[i]);
    }
    const Row now(args.inverse_rms[row], block_sum(dot, warps), args.dim);
    for (std::int64_t i = threadIdx.x; i < args.dim; i += threads_any) {
      const float g = to_float(dy[i]), v = to_float(x[i]);
      float dx = now.dx(g, to_float(weight[i]), v);
      if (d_residual != nullptr) dx = to_float(d_residual[i]) + dx;
      partial[i] = (row == begin ? 0.0f : partial[i]) + now.d_weight(g, v);
      const T stored = from_float<T>(dx);
      static_cast<T*>(args.dx)[first + i] = stored;
      fold.add(to_float(stored));
    }
  }
  fold.publish(args.stats);
}

/// d_weight (+)= the partials: part y of a column's threads sums partials y, y + 32, ..., then the parts are summed in
/// order. Reads blocks · dim floats.
__global__ void __launch_bounds__(combine_columns* combine_parts)
    combine_partials(RmsNormBackward args, std::int64_t blocks) {
  __shared__ float parts[combine_parts][combine_columns];
  const std::int64_t column = std::int64_t{blockIdx.x} * combine_columns + threadIdx.x;
  const float* partials = static_cast<const float*>(args.workspace) + column;
  float sum = 0.0f;
  for (std::int64_t b = threadIdx.y; b < blocks && column < args.dim; b += combine_parts) {
    sum += partials[b * args.dim];
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= args.dim) return;
  sum = 0.0f;
  for (int y = 0; y < combine_parts; ++y) sum += parts[y][threadIdx.x];
  args.d_weight[column] = args.accumulate ? args.d_weight[column] + sum : sum;
}

template <typename T>
void backward_rows(const RmsNormBackward& args, cudaStream_t stream) {
  const std::int64_t rows_a_block = rows_of_block(args.rows);
  const auto blocks = static_cast<unsigned>(blocks_of(args.rows));
  const bool whole = aligned_to_16(args.dim * static_cast<std::int64_t>(sizeof(T)), args.dy, args.x, args.weight,
                                   args.d_residual, args.dx, args.workspace);
  const auto launch = [&](auto* kernel, int packs) {
    kernel<<<blocks, threads_for<T>(args.dim, packs), 0, stream>>>(args, rows_a_block);
  };
  if (whole && args.dim <= widest<T>(few_threads, 4)) {
    launch(backward_packs<T, 4, few_threads>, 4);
  } else if (whole && args.dim <= widest<T>(most_threads, most_packs<T>)) {
    launch(backward_packs<T, most_packs<T>, most_threads>, most_packs<T>);
  } else {
    backward_any<T><<<blocks, threads_any, 0, stream>>>(args, rows_a_block);
  }
  check_launch("rmsnorm_backward");
}

}  // namespace

std::int64_t rmsnorm_backward_workspace(const RmsNormBackward& args) {
  return blocks_of(args.rows) * args.dim * static_cast<std::int64_t>(sizeof(float));
}

/// Must move rows · dim · sizeof(dtype) · (3 reads + 1 write), 2 + 1 without d_residual; the partials add one float
/// written and read for every rows_of_block rows.
void rmsnorm_backward(Stream& stream, const RmsNormBackward& args) {
  prepare(args.stats, native(stream));
  if (args.rows > 0) {
    dispatch_storage(args.dtype, [&]<typename T>(T) { backward_rows<T>(args, native(stream)); });
  }
  const auto columns = static_cast<unsigned>(ceil_div(args.dim, combine_columns));
  combine_partials<<<columns, dim3(combine_columns, combine_parts), 0, native(stream)>>>(args, blocks_of(args.rows));
  check_launch("rmsnorm_backward's partials");
}

}  // namespace octet::cuda
