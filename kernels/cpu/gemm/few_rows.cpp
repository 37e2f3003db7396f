#include "kernels/cpu/gemm/few_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/gemm/widen_codes.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/registers.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace few_rows {
namespace {

using registers::lanes;
using registers::Vector;

constexpr std::int64_t most_rows = 4;
/// Rows of the weight that are read side by side.
constexpr int side_by_side = 4;

/// Vectors that are read at once: 8-bit values are widened two by two.
template <typename T>
constexpr int vectors_at_once = sizeof(T) == 1 ? 2 : 1;

inline void read_vectors(const float* p, Vector (&to)[1]) {
  std::memcpy(&to[0], p, sizeof to[0]);  // rows begin anywhere, and clang takes a pointer to a vector to be aligned
}
using Words = std::uint32_t __attribute__((vector_size(lanes * sizeof(float)), may_alias));
inline void read_vectors(const bf16* p, Vector (&to)[1]) {
  using Halves = std::uint16_t __attribute__((vector_size(lanes * sizeof(bf16))));
  Halves halves;
  std::memcpy(&halves, p, sizeof halves);
  const Words bits = __builtin_convertvector(halves, Words) << 16;
  to[0] = reinterpret_cast<const Vector&>(bits);
}
template <typename T>
requires(sizeof(T) == 1) inline void read_vectors(const T* p, Vector (&to)[2]) {
  widen_codes(p, to);
}
/// What a sum of the vectors' products is in units of.
template <typename T>
constexpr float unit_of = 1.0f;
template <typename T>
requires(sizeof(T) == 1) constexpr float unit_of<T> = code_unit<T>;

/// The sum of the lanes, by halves.
inline float total(Vector v) {
  alignas(64) float lane[lanes];
  registers::store(lane, v);
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lane[j] += lane[j + width];
  }
  return lane[0];
}

/// sums[M][W] = rows of x [M, k] · rows of w [W, k]. What lies behind the rows of w is read next.
template <int M, int W, typename T>
inline void products(const float* x, const T* w, std::int64_t k, float (&sums)[M][W]) {
  constexpr int vectors = vectors_at_once<T>, step = vectors * lanes;
  Vector sum[M][W] = {};
  float rest[M][W] = {};
  std::int64_t i = 0;
  for (; i + step <= k; i += step) {
    Vector left[M][vectors][1];
    for (int m = 0; m < M; ++m) {
      for (int v = 0; v < vectors; ++v) read_vectors(x + m * k + i + v * lanes, left[m][v]);
    }
    for (int j = 0; j < W; ++j) {
      const T* from = w + j * k + i;
      // The processor's own prefetching begins anew with each page, which a row may be: the next rows are fetched here.
      __builtin_prefetch(from + W * k);
      Vector right[vectors];
      read_vectors(from, right);
      for (int m = 0; m < M; ++m) {
        for (int v = 0; v < vectors; ++v) sum[m][j] += left[m][v][0] * right[v];
      }
    }
  }
  for (; i < k; ++i) {
    for (int m = 0; m < M; ++m) {
      for (int j = 0; j < W; ++j) rest[m][j] += x[m * k + i] * static_cast<float>(w[j * k + i]);
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int j = 0; j < W; ++j) sums[m][j] = unit_of<T> * total(sum[m][j]) + rest[m][j];
  }
}

struct Factors {
  const float *rows = nullptr, *columns = nullptr;  ///< one for each, or null
  float all = 1.0f;

  explicit Factors(const Gemm& args) {
    take(args.a, rows);
    take(args.b, columns);
  }
  float at(std::int64_t row, std::int64_t column) const {
    return all * (rows == nullptr ? 1.0f : rows[row]) * (columns == nullptr ? 1.0f : columns[column]);
  }

 private:
  void take(const GemmOperand& x, const float*& each) {
    if (!is_float8(x.dtype) || x.inverse_scale == nullptr) return;
    x.scales == ScaleForm::each ? void(each = x.inverse_scale) : void(all *= *x.inverse_scale);
  }
};

template <int M, int W, typename T, typename C>
inline void columns_of(const Gemm& args, const Factors& factors, const float* x, std::int64_t column) {
  float sums[M][W];
  products<M, W>(x, static_cast<const T*>(args.b.data) + column * args.k, args.k, sums);
  for (int m = 0; m < M; ++m) {
    C* c = static_cast<C*>(args.c) + m * args.n + column;
    for (int j = 0; j < W; ++j) {
      const float y = factors.at(m, column + j) * sums[m][j];
      cpu::store(c[j], args.beta == 0.0f ? y : y + static_cast<float>(c[j]));
    }
  }
}

template <int M, typename T, typename C>
void run(const Gemm& args, const float* x) {
  const Factors factors(args);
  const std::int64_t blocks = args.n / side_by_side;
#pragma omp parallel for schedule(static) if (args.n * args.k > 65536)
  for (std::int64_t b = 0; b < blocks; ++b) columns_of<M, side_by_side, T, C>(args, factors, x, b * side_by_side);
  for (std::int64_t n = blocks * side_by_side; n < args.n; ++n) columns_of<M, 1, T, C>(args, factors, x, n);
}

template <typename T, typename C>
void run_rows(const Gemm& args, const float* x) {
  switch (args.m) {
    case 1:
      return run<1, T, C>(args, x);
    case 2:
      return run<2, T, C>(args, x);
    case 3:
      return run<3, T, C>(args, x);
    default:
      return run<4, T, C>(args, x);
  }
}

}  // namespace
}  // namespace few_rows

bool is_few_rows(const Gemm& args) {
  return args.m <= few_rows::most_rows && could_be_few_rows(args);
}

bool could_be_few_rows(const Gemm& args) {
  const bool emulated = args.emulate_hopper && is_float8(args.a.dtype);
  return !args.a.transposed && args.b.transposed && !emulated && !along_contraction(args.a.scales) &&
         !along_contraction(args.b.scales);
}

std::int64_t few_rows_workspace(const Gemm& args) {
  if (args.a.dtype == DType::f32) return 0;
  return std::min(args.m, few_rows::most_rows) * args.k * size_of(DType::f32);
}

void few_rows_gemm(const Gemm& args) {
  const auto* x = static_cast<const float*>(args.a.data);
  if (args.a.dtype != DType::f32) {
    auto* wide = static_cast<float*>(args.workspace);
    dispatch_storage_or_float8(
        args.a.dtype, [&]<typename A>(A) { convert_loop(static_cast<const A*>(args.a.data), wide, args.m * args.k); });
    x = wide;
  }
  dispatch_storage_or_float8(args.b.dtype, [&]<typename T>(T) {
    args.c_dtype == DType::f32 ? few_rows::run_rows<T, float>(args, x) : few_rows::run_rows<T, bf16>(args, x);
  });
}

}  // namespace octet::cpu
