#include "src/base/random.h"

#include <Random123/philox.h>

#include <cmath>

namespace octet {

std::array<std::uint32_t, 4> random_block(const RandomKey& key, std::uint64_t index) {
  r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                         static_cast<std::uint32_t>(key.purpose), key.stream}};
  r123::Philox4x32::key_type seed = {
      {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)}};
  const auto block = r123::Philox4x32()(counter, seed);
  return {block[0], block[1], block[2], block[3]};
}

std::uint64_t random_bits(const RandomKey& key, std::uint64_t index) {
  const auto block = random_block(key, index);
  return (static_cast<std::uint64_t>(block[1]) << 32) | block[0];
}

double random_uniform(const RandomKey& key, std::uint64_t index) {
  // 52 bits: with 53 the sum would need 54 and round the largest numbers to 1.
  return (static_cast<double>(random_bits(key, index) >> 12) + 0.5) * 0x1p-52;
}

double random_normal(const RandomKey& key, std::uint64_t index, double cutoff) {
  const double low = 0.5 * std::erfc(cutoff / std::sqrt(2.0));  // P(X < -cutoff)
  return normal_quantile(low + (1.0 - 2.0 * low) * random_uniform(key, index));
}

namespace {

double ratio(const double (&numerator)[8], const double (&denominator)[8], double r) {
  double a = 0, b = 0;
  for (int i = 7; i >= 0; --i) {
    a = a * r + numerator[i];
    b = b * r + denominator[i];
  }
  return a / b;
}

}  // namespace

// M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37 (1988).
double normal_quantile(double p) {
  static constexpr double central_a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                          1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                          3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double central_b[8] = {1.0,
                                          4.2313330701600911252e1,
                                          6.8718700749205790830e2,
                                          5.3941960214247511077e3,
                                          2.1213794301586595867e4,
                                          3.9307895800092710610e4,
                                          2.8729085735721942674e4,
                                          5.2264952788528545610e3};
  static constexpr double middle_a[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                         3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                         2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double middle_b[8] = {1.0,
                                         2.05319162663775882187e0,
                                         1.67638483018380384940e0,
                                         6.89767334985100004550e-1,
                                         1.48103976427480074590e-1,
                                         1.51986665636164571966e-2,
                                         5.47593808499534494600e-4,
                                         1.05075007164441684324e-9};
  static constexpr double tail_a[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                       2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                       2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double tail_b[8] = {1.0,
                                       5.99832206555887937690e-1,
                                       1.36929880922735805310e-1,
                                       1.48753612908506148525e-2,
                                       7.86869131145613259100e-4,
                                       1.84631831751005468180e-5,
                                       1.42151175831644588870e-7,
                                       2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) return q * ratio(central_a, central_b, 0.180625 - q * q);
  double r = std::sqrt(-std::log(q < 0 ? p : 1.0 - p));
  const double x = r <= 5.0 ? ratio(middle_a, middle_b, r - 1.6) : ratio(tail_a, tail_b, r - 5.0);
  return q < 0 ? -x : x;
}

}  // namespace octet
