#include "kernels/rmsnorm.h"

#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/lanes.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

constexpr std::int64_t weight_block_rows = 32;      // rows of one partial d_weight
constexpr std::int64_t weight_block_columns = 256;  // columns that one thread combines at a time

template <typename T>
void add_row(const T* a, const T* b, T* sum, std::int64_t dim) {
#pragma omp simd
  for (std::int64_t i = 0; i < dim; ++i) store(sum[i], static_cast<float>(a[i]) + static_cast<float>(b[i]));
}

template <typename T>
void forward(const AddRmsNormForward& args) {
  const std::int64_t dim = args.dim;
  const T* residual = static_cast<const T*>(args.residual);
  const T* branch = static_cast<const T*>(args.branch);
  const T* weight = static_cast<const T*>(args.weight);
  T* sum = static_cast<T*>(args.sum);
  const bool stats = args.stats.wanted();
  const auto fold = fold_blocks(args.rows, 1, [&](std::int64_t row, std::int64_t, StatsFold& f) {
    const std::int64_t at = row * dim;
    if (branch != nullptr) add_row(residual + at, branch + at, sum + at, dim);
    const T* x = (branch != nullptr ? sum : residual) + at;
    const float squares = sum_lanes<float>(dim, [x](std::int64_t i) {
      const float v = static_cast<float>(x[i]);
      return v * v;
    });
    const float inverse_rms = 1.0f / std::sqrt(squares / static_cast<float>(dim) + args.eps);
    args.inverse_rms[row] = inverse_rms;
    thread_local std::vector<T> row_of_thread;
    if (args.y == nullptr) row_of_thread.resize(static_cast<std::size_t>(dim));
    T* y = args.y == nullptr ? row_of_thread.data() : static_cast<T*>(args.y) + at;
    scale_row(x, weight, inverse_rms, y, dim);
    if (stats) f.add(y, dim);
    cast_part(args.float8, y, at, dim);
  });
  fold.publish(args.stats);
}

/// With r = inverse_rms:  dx = d_residual + r · (dy·w - x · r²/dim · Σ dy·w·x), and dy · x · r into the partial
/// d_weight.
template <bool has_residual, typename T>
void backward_row(const T* dy, const T* x, const T* weight, const T* d_residual, float r, T* dx, float* d_weight,
                  std::int64_t dim) {
  const float dot = sum_lanes<float>(dim, [=](std::int64_t i) {
    return static_cast<float>(dy[i]) * static_cast<float>(weight[i]) * static_cast<float>(x[i]);
  });
  const float c = dot * r * r / static_cast<float>(dim);
#pragma omp simd
  for (std::int64_t i = 0; i < dim; ++i) {
    const float g = static_cast<float>(dy[i]), v = static_cast<float>(x[i]);
    float d = r * (g * static_cast<float>(weight[i]) - v * c);
    if constexpr (has_residual) d = static_cast<float>(d_residual[i]) + d;
    d_weight[i] += g * (v * r);
    store(dx[i], d);
  }
}

template <typename T>
void backward_rows(const RmsNormBackward& args, float* partials) {
  const std::int64_t dim = args.dim;
  const T* dy = static_cast<const T*>(args.dy);
  const T* x = static_cast<const T*>(args.x);
  const T* weight = static_cast<const T*>(args.weight);
  const T* d_residual = static_cast<const T*>(args.d_residual);
  T* dx = static_cast<T*>(args.dx);
  const bool stats = args.stats.wanted();
  const auto fold = fold_blocks(args.rows, weight_block_rows, [&](std::int64_t begin, std::int64_t end, StatsFold& f) {
    float* d_weight = partials + begin / weight_block_rows * dim;
    std::fill_n(d_weight, dim, 0.0f);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * dim;
      const float r = args.inverse_rms[row];
      if (d_residual != nullptr) {
        backward_row<true>(dy + at, x + at, weight, d_residual + at, r, dx + at, d_weight, dim);
      } else {
        backward_row<false>(dy + at, x + at, weight, d_residual, r, dx + at, d_weight, dim);
      }
      if (stats) f.add(dx + at, dim);
      cast_part(args.float8, dx + at, at, dim);
    }
  });
  fold.publish(args.stats);
}

/// d_weight (+)= the partials, block by block.
void combine_partials(const RmsNormBackward& args, const float* partials) {
  const std::int64_t blocks = ceil_div(args.rows, weight_block_rows), dim = args.dim;
  for_blocks(dim, weight_block_columns, [&](std::int64_t begin, std::int64_t end) {
    float sum[weight_block_columns] = {};
    const std::int64_t n = end - begin;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const float* partial = partials + b * dim + begin;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) sum[i] += partial[i];
    }
    float* out = args.d_weight + begin;
    for (std::int64_t i = 0; i < n; ++i) out[i] = args.accumulate ? out[i] + sum[i] : sum[i];
  });
}

}  // namespace

void add_rmsnorm_forward(Stream&, const AddRmsNormForward& args) {
  dispatch_storage(args.dtype, [&]<typename T>(T) { forward<T>(args); });
}

std::int64_t rmsnorm_backward_workspace(const RmsNormBackward& args) {
  return ceil_div(args.rows, weight_block_rows) * args.dim * static_cast<std::int64_t>(sizeof(float));
}

void rmsnorm_backward(Stream&, const RmsNormBackward& args) {
  float* partials = static_cast<float*>(args.workspace);
  dispatch_storage(args.dtype, [&]<typename T>(T) { backward_rows<T>(args, partials); });
  combine_partials(args, partials);
}

}  // namespace octet::cpu
