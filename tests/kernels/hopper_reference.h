#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "src/base/dtype.h"

/// The sum of an fp8 dot product on Hopper's tensor cores, one element at a time, written from the rule in integers: a
/// number is significand · 2^exponent. For the tests of kernels/cpu/gemm/hopper_multiply.h, with which it shares no
/// code.
namespace octet::test {

struct Scaled {
  std::int64_t significand = 0;
  int exponent = 0;
};

/// A finite code; the exponent is that of the significand's last bit, subnormal numbers have the smallest.
inline Scaled scaled(std::uint8_t code, DType format) {
  const int mantissa_bits = format == DType::e4m3 ? 3 : 2, bias = format == DType::e4m3 ? 7 : 15;
  const int field = (code & 0x7F) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
  const int significand = field == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return {code & 0x80 ? -significand : significand, (field == 0 ? 1 : field) - bias - mantissa_bits};
}

/// floor(log2|x|) of a number that is not zero.
inline int magnitude(const Scaled& x) {
  return x.exponent + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(x.significand)))) - 1;
}

/// trunc(x / 2^unit), for shifts to the left by few bits.
inline std::int64_t cut(const Scaled& x, int unit) {
  const int right = unit - x.exponent;
  if (right <= 0) return x.significand * (std::int64_t{1} << -right);
  if (right > 62) return 0;
  return x.significand / (std::int64_t{1} << right);  // C++ divides toward zero
}

/// Codes of one row of A and one column of B from `begin` up to `end`, one chain.
inline Scaled hopper_chain(const std::vector<std::uint8_t>& a, DType a_format, const std::vector<std::uint8_t>& b,
                           DType b_format, std::size_t begin, std::size_t end) {
  const int a_mantissa = a_format == DType::e4m3 ? 3 : 2, b_mantissa = b_format == DType::e4m3 ? 3 : 2;
  Scaled c;
  for (std::size_t k = begin; k < end; k += 32) {
    std::vector<Scaled> terms;
    int top = -132;
    for (std::size_t i = k; i < std::min(k + 32, end); ++i) {
      const Scaled x = scaled(a[i], a_format), y = scaled(b[i], b_format);
      if (x.significand == 0 || y.significand == 0) continue;
      terms.push_back({x.significand * y.significand, x.exponent + y.exponent});
      top = std::max(top, x.exponent + a_mantissa + y.exponent + b_mantissa);
    }
    if (c.significand != 0) {
      terms.push_back(c);
      top = std::max(top, magnitude(c));
    }
    c = {0, top - 13};
    for (const Scaled& term : terms) c.significand += cut(term, top - 13);
    if (c.significand == 0) continue;
    const int unit = std::max(magnitude(c) - 13, c.exponent);
    c = {cut(c, unit), unit};
  }
  return c;
}

/// The fp32 accumulator of one element whose codes are all finite.
inline float hopper_sum(const std::vector<std::uint8_t>& a, DType a_format, const std::vector<std::uint8_t>& b,
                        DType b_format, bool fast) {
  const auto value = [](const Scaled& x) { return std::ldexp(static_cast<float>(x.significand), x.exponent); };
  if (fast) return value(hopper_chain(a, a_format, b, b_format, 0, a.size()));
  float sum = 0.0f;
  for (std::size_t k = 0; k < a.size(); k += 128) {
    sum += value(hopper_chain(a, a_format, b, b_format, k, std::min(k + 128, a.size())));
  }
  return sum;
}

}  // namespace octet::test
