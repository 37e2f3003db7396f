#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"

namespace octet {

/// How the frequencies of the rotary embedding are changed for contexts longer than those of pre-training.
enum class RopeScalingKind : std::uint8_t { none, llama3 };
constexpr auto names_of(RopeScalingKind) {
  return std::to_array<std::string_view>({"none", "llama3"});
}

/// The numbers of Llama 3.1's and 3.2's rule, those of 3.1 where nothing is said. Without a rule they have no meaning.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_positions = 8192;  ///< in tokens

  bool operator==(const RopeScaling&) const = default;
};

/// Radians by which each pair of a head turns from one position to the next, [head_dim / 2]: f = theta^(-2i/head_dim).
/// llama3, with the wavelength w = 2 pi / f and original_positions n (transformers' modeling_rope_utils.py): f / factor
/// where w > n / low_freq_factor, f where w < n / high_freq_factor, and between them (1 - s) f / factor + s f with
/// s = (n / w - low_freq_factor) / (high_freq_factor - low_freq_factor).
std::vector<double> rope_frequencies(std::int64_t head_dim, double theta, const RopeScaling& scaling);

}  // namespace octet
