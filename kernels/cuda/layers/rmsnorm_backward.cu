#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/row_reduce.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/stats_fold.cuh"
#include "kernels/cuda/layers/rmsnorm.cuh"
#include "kernels/rmsnorm.h"

namespace octet::cuda {
namespace {

using namespace rmsnorm;

constexpr int few_threads = 256;  // blocks of which two fit into a multiprocessor
constexpr int combine_columns = 32, combine_parts = 32;

/// Rows of one block and of one partial d_weight, a function of the number of rows alone: three blocks for each of an
/// H100's multiprocessors, and partials that are few beside the rows (32 rows: one float to 64 bf16 moved).
constexpr std::int64_t rows_of_block(std::int64_t rows) {
  return std::clamp<std::int64_t>(ceil_div(rows, 3 * h100_multiprocessors), 4, 32);
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

/// A thread's packs of dy, x and d_residual, of the next `stages` rows: on their way into shared memory while the block
/// works on the row before them. A thread reads what it copied itself, which needs no barrier.
template <typename T, int P, int stages>
class Incoming {
 public:
  static constexpr int operands = 3;
  static constexpr int bytes_a_thread = stages * operands * P * static_cast<int>(sizeof(Pack<T>));
  enum Operand { dy, x, d_residual };

  /// `shared`: bytes_a_thread of each thread of the block.
  __device__ Incoming(const RmsNormBackward& args, std::int64_t end, Pack<T>* shared)
      : args_(args), packs_(static_cast<int>(args.dim / Pack<T>::size)), end_(end), own_(shared + threadIdx.x) {}

  /// Always a group of copies, an empty one from row `end` on.
  __device__ __forceinline__ void fetch(std::int64_t row, int stage) const {
    if (row < end_) {
      const std::int64_t first = row * args_.dim;
#pragma unroll
      for (int p = 0; p < P; ++p) {
        if (pack_index(p) >= packs_) continue;
        const std::int64_t at = first + pack_index(p) * Pack<T>::size;
        copy_async(slot(stage, dy, p), static_cast<const T*>(args_.dy) + at);
        copy_async(slot(stage, x, p), static_cast<const T*>(args_.x) + at);
        if (args_.d_residual != nullptr)
          copy_async(slot(stage, d_residual, p), static_cast<const T*>(args_.d_residual) + at);
      }
    }
    commit_copies();
  }
  __device__ __forceinline__ Pack<T> get(int stage, Operand operand, int p) const {
    return *slot(stage, operand, p);
  }

 private:
  const RmsNormBackward& args_;
  int packs_;
  std::int64_t end_;
  Pack<T>* own_;

  __device__ __forceinline__ Pack<T>* slot(int stage, Operand operand, int p) const {
    return own_ + ((stage * operands + operand) * P + p) * static_cast<int>(blockDim.x);
  }
};

/// A block's rows one after the other, P packs a thread, d_weight in registers. `stages` rows are in shared memory or
/// on their way there: with two, a multiprocessor has at least 36 KiB under way at any time, for dims from 2048 on.
template <typename T, int P, int most, int stages>
__global__ void __launch_bounds__(most, most <= few_threads ? 2 : 1)
    backward_packs(RmsNormBackward args, std::int64_t rows_a_block) {
  __shared__ float warps[32];
  using Rows = Incoming<T, P, stages>;
  constexpr int size = Pack<T>::size;
  const int packs = static_cast<int>(args.dim / size);
  const std::int64_t begin = blockIdx.x * rows_a_block, end = min(args.rows, begin + rows_a_block);
  const Rows rows(args, end, dynamic_shared<Pack<T>>());
#pragma unroll
  for (int s = 0; s < stages; ++s) rows.fetch(begin + s, s);
  Pack<T> weight[P];
#pragma unroll
  for (int p = 0; p < P; ++p) {
    if (pack_index(p) < packs) weight[p] = load(static_cast<const T*>(args.weight) + pack_index(p) * size);
  }
  float d_weight[P][size] = {};
  float next_inverse_rms = args.inverse_rms[begin];
  const Float8Writer float8(args.float8);
  StatsFold fold;
  for (std::int64_t row = begin; row < end; ++row) {
    const int stage = static_cast<int>((row - begin) % stages);
    const float inverse_rms = next_inverse_rms;
    if (row + 1 < end) next_inverse_rms = args.inverse_rms[row + 1];
    wait_for_copies<stages - 1>();
    float dot = 0.0f;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) >= packs) continue;
      const Pack<T> dy = rows.get(stage, Rows::dy, p), x = rows.get(stage, Rows::x, p);
#pragma unroll
      for (int j = 0; j < size; ++j) dot += to_float(dy.v[j]) * to_float(weight[p].v[j]) * to_float(x.v[j]);
    }
    const Row now(inverse_rms, block_sum(dot, warps), args.dim);
    T* dx_row = static_cast<T*>(args.dx) + row * args.dim;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (pack_index(p) >= packs) continue;
      const Pack<T> dy = rows.get(stage, Rows::dy, p), x = rows.get(stage, Rows::x, p);
      Pack<T> out;
      if (args.d_residual != nullptr) out = rows.get(stage, Rows::d_residual, p);
#pragma unroll
      for (int j = 0; j < size; ++j) {
        const float g = to_float(dy.v[j]), v = to_float(x.v[j]);
        float dx = now.dx(g, to_float(weight[p].v[j]), v);
        if (args.d_residual != nullptr) dx = to_float(out.v[j]) + dx;
        d_weight[p][j] += now.d_weight(g, v);
        out.v[j] = from_float<T>(dx);
        fold.add(to_float(out.v[j]));
      }
      store(dx_row + pack_index(p) * size, out);
      float8.write(row * args.dim + pack_index(p) * size, out);
    }
    rows.fetch(row + stages, stage);
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
  const Float8Writer float8(args.float8);
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
      float8.write(first + i, to_float(stored));
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
  if (column < args.dim) {
#pragma unroll 8
    for (std::int64_t b = threadIdx.y; b < blocks; b += combine_parts) sum += partials[b * args.dim];
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
                                   args.d_residual, args.dx, args.workspace, args.float8.y);
  const int most_shared = most_shared_memory();
  // False where a block cannot have the shared memory.
  const auto launch = [&]<int P, int most, int stages>() {
    const unsigned threads = threads_for<T>(args.dim, P);
    const int shared = static_cast<int>(threads) * Incoming<T, P, stages>::bytes_a_thread;
    if (!whole || args.dim > widest<T>(most, P) || shared > most_shared) return false;
    auto* kernel = backward_packs<T, P, most, stages>;
    allow_shared_memory(kernel, shared);
    kernel<<<blocks, threads, static_cast<unsigned>(shared), stream>>>(args, rows_a_block);
    return true;
  };
  if (!launch.template operator()<4, few_threads, 2>() &&
      !launch.template operator()<most_packs<T>, most_threads, 2>() &&
      !launch.template operator()<most_packs<T>, most_threads, 1>()) {
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
  if (args.rows > 0) {
    dispatch_storage(args.dtype, [&]<typename T>(T) { backward_rows<T>(args, native(stream)); });
  }
  const auto columns = static_cast<unsigned>(ceil_div(args.dim, combine_columns));
  combine_partials<<<columns, dim3(combine_columns, combine_parts), 0, native(stream)>>>(args, blocks_of(args.rows));
  check_launch("rmsnorm_backward's partials");
}

}  // namespace octet::cuda
