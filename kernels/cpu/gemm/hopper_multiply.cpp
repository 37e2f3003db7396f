#include "kernels/cpu/gemm/hopper_multiply.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "kernels/cpu/gemm/hopper_special.h"
#include "kernels/cpu/parts/blocks.h"

namespace octet::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int vector_lanes = 16;
#elif defined(__AVX__)
constexpr int vector_lanes = 8;
#else
constexpr int vector_lanes = 4;
#endif
constexpr int vectors = 4, group = vectors * vector_lanes;  ///< columns that are summed together, in registers
using Floats = float __attribute__((vector_size(vector_lanes * sizeof(float)), may_alias));
using Integers = std::int32_t __attribute__((vector_size(vector_lanes * sizeof(float)), may_alias));
using Bytes = std::int8_t __attribute__((vector_size(group), may_alias));
static_assert(vectors == sizeof(std::int32_t), "a vector of bytes is taken apart by shifts of its integers");

constexpr int block = 32;       ///< products that are added at once
constexpr int promotion = 128;  ///< of k between promotions to fp32
constexpr int fraction_bits = 13;
/// Exponent of zero: in a sum with any other still below the sum of any two that are not zero.
constexpr int exponent_of_zero = -64;
/// Below any exponent of c that is not zero (c is a multiple of 2^(-28 - 13)), and a scale of it is still a float.
constexpr int lowest_exponent = -60;

/// Value and exponent of every code; zero for codes that are not finite, which patch_special() attends to.
struct Decoder {
  std::array<float, 256> value{};
  std::array<std::int8_t, 256> exponent{};
};

constexpr Decoder make_decoder(DType format, int mantissa_bits, int bias) {
  Decoder d;
  for (int code = 0; code < 256; ++code) {
    const auto at = static_cast<std::size_t>(code);
    const int magnitude = code & 0x7F, field = magnitude >> mantissa_bits;
    const bool counts = magnitude != 0 && magnitude < first_special(format);
    d.value[at] = counts ? decode_float8(static_cast<std::uint8_t>(code), format) : 0.0f;
    d.exponent[at] = static_cast<std::int8_t>(counts ? std::max(field, 1) - bias : exponent_of_zero);
  }
  return d;
}

const Decoder& decoder_of(DType format) {
  static constexpr Decoder of_e4m3 = make_decoder(DType::e4m3, 3, 7), of_e5m2 = make_decoder(DType::e5m2, 2, 15);
  return format == DType::e4m3 ? of_e4m3 : of_e5m2;
}

constexpr int tile_rows = 128, tile_columns = 128;

/// What a thread works on: a tile of C, and of A and B what one block takes.
struct alignas(64) Tile {
  float c[tile_rows][tile_columns];      ///< the chain
  float total[tile_rows][tile_columns];  ///< of the chains before, where they are promoted
  float a[tile_rows][block];
  float b[block][tile_columns];
  std::int8_t a_exponent[tile_rows][block];
  std::int8_t b_exponent[block][tile_columns];  ///< in the order of byte_of()
};

/// Where the exponent of a column stands: byte v of lane i of its group for lane i of vector v, so that a shift of
/// integers widens it.
constexpr std::int64_t byte_of(std::int64_t column) {
  const std::int64_t v = column % group / vector_lanes, lane = column % vector_lanes;
  return column / group * group + lane * vectors + v;
}
static_assert(tile_columns % group == 0);

/// values[i][j] and exponents[i][j] (`ByGroups`: [i][byte_of(j)]) of code (i, j), zero beyond `rows` and `columns`.
template <bool ByGroups, int Rows, int Columns>
void decode(const std::uint8_t* codes, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
            std::int64_t columns, const Decoder& decoder, float (&values)[Rows][Columns],
            std::int8_t (&exponents)[Rows][Columns]) {
  for (std::int64_t i = 0; i < Rows; ++i) {
    const std::uint8_t* from = codes + i * row_stride;
    const std::int64_t valid = i < rows ? columns : 0;
    if (valid < Columns) {
      std::fill(values[i], values[i] + Columns, 0.0f);
      std::fill(exponents[i], exponents[i] + Columns, static_cast<std::int8_t>(exponent_of_zero));
    }
    for (std::int64_t j = 0; j < valid; ++j) {
      const std::uint8_t code = from[j * column_stride];
      values[i][j] = decoder.value[code];
      exponents[i][ByGroups ? byte_of(j) : j] = decoder.exponent[code];
    }
  }
}

template <typename V>
V load(const void* p) {
  return *static_cast<const V*>(p);
}

template <typename V>
V larger(V x, V y) {
  return x > y ? x : y;
}

Integers bits_of(Floats x) {
  return reinterpret_cast<const Integers&>(x);
}

Floats float_of(Integers bits) {
  return reinterpret_cast<const Floats&>(bits);
}

/// 2^x for exponents of normal numbers.
Floats power_of_two(Integers x) {
  return float_of((x + 127) << 23);
}

/// One block of products added to a group of columns of one row. Every float operation here is exact: products of two
/// codes have at most 8 significant bits, scales are powers of two, and sums stay below 2^24.
void add_block(Tile& t, std::int64_t row, std::int64_t column) {
  Bytes top = Bytes{} + static_cast<std::int8_t>(2 * exponent_of_zero);
  for (int k = 0; k < block; ++k) {
    top = larger(top, load<Bytes>(&t.b_exponent[k][column]) + t.a_exponent[row][k]);
  }

  const auto of_products = reinterpret_cast<const Integers&>(top);
  Floats scale[vectors];
  Integers exponent[vectors], sum[vectors];
  for (int v = 0; v < vectors; ++v) {
    const Floats c = load<Floats>(&t.c[row][column + v * vector_lanes]);
    const Integers of_c = (bits_of(c) >> 23 & 0xFF) - 127;
    const Integers of_product = of_products << (24 - 8 * v) >> 24;
    exponent[v] = larger(larger(of_product, of_c), Integers{} + lowest_exponent);
    scale[v] = power_of_two(fraction_bits - exponent[v]);
    sum[v] = __builtin_convertvector(c * scale[v], Integers);  // toward zero
  }
  for (int k = 0; k < block; ++k) {
    const float a = t.a[row][k];
    for (int v = 0; v < vectors; ++v) {
      const Floats product = a * load<Floats>(&t.b[k][column + v * vector_lanes]);
      sum[v] += __builtin_convertvector(product * scale[v], Integers);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    const Floats c = __builtin_convertvector(sum[v], Floats) * power_of_two(exponent[v] - fraction_bits);
    const Integers cut = bits_of(c) & ~((1 << (23 - fraction_bits)) - 1);
    *reinterpret_cast<Floats*>(&t.c[row][column + v * vector_lanes]) = float_of(cut);
  }
}

/// The chain's result goes to the total, and a new chain begins.
void promote(Tile& t, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < tile_columns; ++j) t.total[i][j] += t.c[i][j];
    std::fill(t.c[i], t.c[i] + tile_columns, 0.0f);
  }
}

void multiply_tile(const HopperMultiply& args, std::int64_t first_row, std::int64_t first_column, Tile& t) {
  const std::int64_t rows = std::min<std::int64_t>(tile_rows, args.m - first_row);
  const std::int64_t columns = std::min<std::int64_t>(tile_columns, args.n - first_column);
  const CodeMatrix a(args.a, args.a_dtype), b(args.b, args.b_dtype);
  const Decoder &a_decoder = decoder_of(args.a_dtype), &b_decoder = decoder_of(args.b_dtype);
  std::memset(t.c, 0, sizeof t.c);
  std::memset(t.total, 0, sizeof t.total);
  for (std::int64_t k = 0; k < args.k; k += block) {
    const std::int64_t depth = std::min<std::int64_t>(block, args.k - k);
    decode<false>(a.at(first_row, k), a.row_stride, a.column_stride, rows, depth, a_decoder, t.a, t.a_exponent);
    decode<true>(b.at(k, first_column), b.row_stride, b.column_stride, depth, columns, b_decoder, t.b, t.b_exponent);
    for (std::int64_t column = 0; column < columns; column += group) {
      for (std::int64_t row = 0; row < rows; ++row) add_block(t, row, column);
    }
    if (!args.fast && (k + block) % promotion == 0) promote(t, rows);
  }
  if (!args.fast) promote(t, rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* from = args.fast ? t.c[i] : t.total[i];
    std::copy(from, from + columns, args.c + (first_row + i) * args.n + first_column);
  }
}

}  // namespace

void hopper_multiply(const HopperMultiply& args) {
  const std::int64_t across = ceil_div(args.n, tile_columns), tiles = across * ceil_div(args.m, tile_rows);
#pragma omp parallel if (tiles > 1)
  {
    const auto tile = std::make_unique_for_overwrite<Tile>();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < tiles; ++i) {
      multiply_tile(args, i / across * tile_rows, i % across * tile_columns, *tile);
    }
  }
  patch_special(args);
}

}  // namespace octet::cpu
