#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// The inverse of the standard normal distribution function by additions, multiplications, divisions and square roots
/// alone, which IEEE 754 rounds in one way: a CPU and a GPU give the same bits, as long as no compiler contracts them.
/// All functions are constexpr templates, which nvcc compiles for both.
namespace octet::normal {

/// a0 + a1 r + ... + a7 r^7
template <typename Real>
constexpr Real polynomial(Real r, Real a0, Real a1, Real a2, Real a3, Real a4, Real a5, Real a6, Real a7) {
  return ((((((a7 * r + a6) * r + a5) * r + a4) * r + a3) * r + a2) * r + a1) * r + a0;
}

/// The half of x's bits that multiply without rounding (Veltkamp).
template <typename Real>
constexpr Real upper_half(Real x) {
  const Real scaled = x * 0x8000001p0;
  return scaled - (scaled - x);
}

/// x y - rounded exactly, where `rounded` is their product (Dekker).
template <typename Real>
constexpr Real product_error(Real x, Real y, Real rounded) {
  const Real x_upper = upper_half(x), y_upper = upper_half(y);
  const Real x_lower = x - x_upper, y_lower = y - y_upper;
  return ((x_upper * y_upper - rounded) + x_upper * y_lower + x_lower * y_upper) + x_lower * y_lower;
}

/// The natural logarithm of a positive normal number, wrong by at most 0.54 units in the last place: with x = 2^e m and
/// s = (m - 1) / (m + 1), it is e ln 2 + 2 s + 2 s^3 (1/3 + s^2/5 + ...), whose large terms are kept in two parts.
template <typename Real>
constexpr Real logarithm(Real x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  Real m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const Real f = m - 1.0, d = 2.0 + f, d_lost = f - (d - 2.0);
  const Real s = f / d, product = s * d;
  const Real s_lost = (((f - product) - product_error(s, d, product)) - s * d_lost) / d;
  const Real q = s * s;
  const Real series =
      q * (q * (q * (q * polynomial(q, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23) +
                     1.0 / 7) +
                1.0 / 5) +
           1.0 / 3);
  // ln 2 in two parts, of which the first times an exponent is exact.
  const Real e = exponent, large = e * 0x1.62e42fefa3800p-1, main = large + 2.0 * s;
  const Real lost = 2.0 * s - (main - large);
  return main + (lost + (2.0 * s * series + (2.0 * s_lost + e * 0x1.ef35793c76730p-45)));
}

/// M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37 (1988).
/// For 0 < p < 1 its relative accuracy is about 1e-16.
template <typename Real>
constexpr Real quantile(Real p) {
  const Real q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const Real r = 0.180625 - q * q;
    return q * (polynomial(r, 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                           1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                           3.3430575583588128105e4, 2.5090809287301226727e3) /
                polynomial(r, 1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                           2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
                           5.2264952788528545610e3));
  }
  const Real r = std::sqrt(-logarithm(q < 0 ? p : 1.0 - p));
  Real x = 0;
  if (r <= 5.0) {
    const Real t = r - 1.6;
    x = polynomial(t, 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                   3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                   2.27238449892691845833e-2, 7.74545014278341407640e-4) /
        polynomial(t, 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                   1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                   1.05075007164441684324e-9);
  } else {
    const Real t = r - 5.0;
    x = polynomial(t, 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                   2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                   2.71155556874348757815e-5, 2.01033439929228813265e-7) /
        polynomial(t, 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                   7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                   2.04426310338993978564e-15);
  }
  return q < 0 ? -x : x;
}

}  // namespace octet::normal
