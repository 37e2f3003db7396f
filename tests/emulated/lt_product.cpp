#include "tests/emulated/lt_product.h"

#include <dnnl.h>

#include <algorithm>
#include <vector>

#include "src/base/bfloat16.h"
#include "src/base/float8.h"
#include "src/base/round_up.h"
#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {
namespace {

using cuda_test::Product;
constexpr std::int64_t block = 128;

std::size_t size_of(std::uint64_t type) {
  return type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 1;
}

/// reaches(p, bytes) of each run of neighbouring elements of a matrix.
template <typename F>
void each_run(std::uint64_t data, const Product::Matrix& m, const F& reaches) {
  const auto at = [&](std::uint64_t column) {
    return reinterpret_cast<const void*>(data + column * m.leading * size_of(m.type));
  };
  if (m.leading == m.rows) return reaches(at(0), m.rows * m.columns * size_of(m.type));
  for (std::uint64_t column = 0; column < m.columns; ++column) reaches(at(column), m.rows * size_of(m.type));
}

float element(const void* data, std::uint64_t type, std::int64_t i) {
  switch (type) {
    case CUDA_R_32F:
      return static_cast<const float*>(data)[i];
    case CUDA_R_16BF:
      return static_cast<float>(static_cast<const bf16*>(data)[i]);
    case CUDA_R_8F_E4M3:
      return static_cast<float>(static_cast<const e4m3*>(data)[i]);
    default:
      return static_cast<float>(static_cast<const e5m2*>(data)[i]);
  }
}

/// An operand as `kept` rows of `contracted` neighbouring values, with its inverse scales ("Scaling factors layouts",
/// https://docs.nvidia.com/cuda/cublas/).
struct Operand {
  std::int64_t kept, contracted;
  const float* scales;
  std::uint64_t mode;
  std::vector<float> values;

  /// `along`: the contracted index is the fast one of the matrix.
  Operand(std::uint64_t data, const Product::Matrix& m, bool along, std::uint64_t scale, std::uint64_t scale_mode)
      : kept(static_cast<std::int64_t>(along ? m.columns : m.rows)),
        contracted(static_cast<std::int64_t>(along ? m.rows : m.columns)),
        scales(reinterpret_cast<const float*>(scale)),
        mode(scale_mode),
        values(static_cast<std::size_t>(kept * contracted)) {
    const auto leading = static_cast<std::int64_t>(m.leading);
    for (std::int64_t i = 0, to = 0; i < kept; ++i) {
      for (std::int64_t l = 0; l < contracted; ++l, ++to) {
        const std::int64_t place = along ? l + i * leading : i + l * leading;
        values[static_cast<std::size_t>(to)] = element(reinterpret_cast<const void*>(data), m.type, place);
      }
    }
  }

  /// How many scales there are.
  std::int64_t scale_count() const {
    switch (mode) {
      case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
        return kept;
      case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
        return kept * ceil_div(contracted, block);
      case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
        return ceil_div(kept, block) * round_up(ceil_div(contracted, block), 4);
      default:
        return 1;
    }
  }
  bool of_blocks() const { return cuda_test::rules::along_contraction(mode); }
  float scale(std::int64_t i, std::int64_t l) const {
    if (scales == nullptr) return 1.0f;
    switch (mode) {
      case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
        return scales[i];
      case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
        return scales[l / block * kept + i];
      case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
        return scales[i / block * round_up(ceil_div(contracted, block), 4) + l / block];
      default:
        return scales[0];
    }
  }
};

/// sums[j][i] = Σ a[i][l] · b[j][l] of the contracted indices from `begin` to `end`.
std::vector<float> sums_of(const Operand& a, const Operand& b, std::int64_t begin, std::int64_t end) {
  std::vector<float> sums(static_cast<std::size_t>(a.kept * b.kept));
  const dnnl_status_t status =
      dnnl_sgemm('N', 'T', b.kept, a.kept, end - begin, 1.0f, b.values.data() + begin, b.contracted,
                 a.values.data() + begin, a.contracted, 0.0f, sums.data(), a.kept);
  if (status != dnnl_success) fault("oneDNN multiplies no matrices");
  return sums;
}

/// The sums with scales: of blocks, a block's each, added in order.
std::vector<float> scaled_sums(const Operand& a, const Operand& b) {
  const std::int64_t step = a.of_blocks() ? block : a.contracted;
  std::vector<float> all(static_cast<std::size_t>(a.kept * b.kept), 0.0f);
  for (std::int64_t l = 0; l < a.contracted; l += step) {
    const std::vector<float> part = sums_of(a, b, l, std::min(l + step, a.contracted));
    for (std::int64_t j = 0, at = 0; j < b.kept; ++j) {
      for (std::int64_t i = 0; i < a.kept; ++i, ++at) {
        all[static_cast<std::size_t>(at)] += part[static_cast<std::size_t>(at)] * (a.scale(i, l) * b.scale(j, l));
      }
    }
  }
  return all;
}

void store(void* data, std::uint64_t type, std::int64_t i, float value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[i] = value;
  } else {
    static_cast<bf16*>(data)[i] = bf16(value);
  }
}

}  // namespace

void multiply(const Product& p, const Product::Addresses& at, float alpha, float beta) {
  const Operand a(at.a, p.a, p.transposed_a == CUBLAS_OP_T, p.scale_a, p.scale_mode_a);
  const Operand b(at.b, p.b, p.transposed_b != CUBLAS_OP_T, p.scale_b, p.scale_mode_b);
  const std::vector<float> sums = scaled_sums(a, b);
  each_run(at.a, p.a, piece_reads);
  each_run(at.b, p.b, piece_reads);
  for (const Operand* operand : {&a, &b}) {
    if (operand->scales != nullptr) piece_reads(operand->scales, static_cast<std::size_t>(operand->scale_count()) * 4);
  }
  if (beta != 0) each_run(at.c, p.c, piece_reads);
  each_run(at.d, p.d, piece_writes);
  auto* d = reinterpret_cast<void*>(at.d);
  const auto* c = reinterpret_cast<const void*>(at.c);
  for (std::int64_t j = 0, from = 0; j < b.kept; ++j) {
    for (std::int64_t i = 0; i < a.kept; ++i, ++from) {
      float value = alpha * sums[static_cast<std::size_t>(from)];
      if (beta != 0) value += beta * element(c, p.c.type, i + j * static_cast<std::int64_t>(p.c.leading));
      store(d, p.d.type, i + j * static_cast<std::int64_t>(p.d.leading), value);
    }
  }
}

}  // namespace octet::emulated
