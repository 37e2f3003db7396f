#include "src/base/random.h"

#include <Random123/philox.h>

#include <cmath>

#include "src/base/normal_quantile.h"

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

double below_cutoff(double cutoff) {
  return 0.5 * std::erfc(cutoff / std::sqrt(2.0));
}

double random_normal(const RandomKey& key, std::uint64_t index, double cutoff) {
  const double low = below_cutoff(cutoff);
  return normal_quantile(low + (1.0 - 2.0 * low) * random_uniform(key, index));
}

double normal_quantile(double p) {
  return normal::quantile(p);
}

}  // namespace octet
