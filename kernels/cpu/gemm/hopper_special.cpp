#include "kernels/cpu/gemm/hopper_special.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/cpu/parts/blocks.h"

namespace octet::cpu {
namespace {

/// Lines that have a code which is not finite: rows of [lines, length], each element `stride` behind the last.
std::vector<std::uint8_t> special_lines(const CodeMatrix& x, std::int64_t lines, std::int64_t line_stride,
                                        std::int64_t length, std::int64_t stride) {
  std::vector<std::uint8_t> special(static_cast<std::size_t>(lines), 0);
  const int limit = first_special(x.format);
  for_blocks(lines, 256, [&](std::int64_t begin, std::int64_t end) {
    std::uint8_t* found = special.data();
    if (stride == 1) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint8_t* line = x.codes + i * line_stride;
        int any = 0;
#pragma omp simd reduction(| : any)
        for (std::int64_t j = 0; j < length; ++j) any |= (line[j] & 0x7F) >= limit ? 1 : 0;
        found[i] = static_cast<std::uint8_t>(any);
      }
    } else {  // lines lie side by side
      for (std::int64_t j = 0; j < length; ++j) {
        const std::uint8_t* codes = x.codes + j * stride;
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) found[i] |= (codes[i] & 0x7F) >= limit ? 1 : 0;
      }
    }
  });
  return special;
}

/// Σ a·b where a factor is not finite: NaN or an infinity, since the finite products stay far from overflowing.
float ieee_sum(const CodeMatrix& a, const CodeMatrix& b, std::int64_t row, std::int64_t column, std::int64_t depth) {
  float sum = 0.0f;
  for (std::int64_t k = 0; k < depth && !std::isnan(sum); ++k) {
    sum += decode_float8(*a.at(row, k), a.format) * decode_float8(*b.at(k, column), b.format);
  }
  return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFF) : sum;
}

bool any(const std::vector<std::uint8_t>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](std::uint8_t flag) { return flag != 0; });
}

}  // namespace

void patch_special(const HopperMultiply& args) {
  const CodeMatrix a(args.a, args.a_dtype), b(args.b, args.b_dtype);
  const auto rows = special_lines(a, args.m, a.row_stride, args.k, a.column_stride);
  const auto columns = special_lines(b, args.n, b.column_stride, args.k, b.row_stride);
  const bool any_column = any(columns);
  if (!any_column && !any(rows)) return;
#pragma omp parallel for schedule(dynamic, 1)
  for (std::int64_t i = 0; i < args.m; ++i) {
    const bool whole_row = rows[static_cast<std::size_t>(i)] != 0;
    for (std::int64_t j = 0; j < args.n && (whole_row || any_column); ++j) {
      if (whole_row || columns[static_cast<std::size_t>(j)] != 0) {
        args.c[i * args.n + j] = ieee_sum(a, b, i, j, args.k);
      }
    }
  }
}

}  // namespace octet::cpu
