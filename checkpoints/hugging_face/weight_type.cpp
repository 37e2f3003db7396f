#include "checkpoints/hugging_face/weight_type.h"

#include <algorithm>
#include <array>
#include <bit>

#include "checkpoints/format/finite.h"
#include "src/base/bfloat16.h"
#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

constexpr std::array<WeightTypeNames, 3> names = {{
    {"fp32", "F32", "float32"},
    {"bf16", "BF16", "bfloat16"},
    {"fp16", "F16", "float16"},
}};

std::string name_of_weight(const StoredTensor& tensor) {
  return parameter_of(TensorKind::master, tensor.name).value_or(tensor.name);
}

}  // namespace

const WeightTypeNames& names_of(WeightType type) {
  return names[static_cast<std::size_t>(type)];
}

std::optional<WeightType> weight_type_of(std::string_view name) {
  const auto found = std::ranges::find(names, name, &WeightTypeNames::ours);
  return found == names.end() ? std::nullopt : std::optional(static_cast<WeightType>(found - names.begin()));
}

std::int64_t size_of(WeightType type) {
  return type == WeightType::fp32 ? 4 : 2;
}

std::uint16_t Rounding::half(float x, std::int64_t i, const StoredTensor& tensor, const Part& part) {
  constexpr std::uint16_t infinity = 0x7C00, smallest_normal = 0x0400;
  const std::uint16_t rounded = to_half(x), magnitude = rounded & 0x7FFF;
  if (magnitude == infinity) {
    throw usage_error("checkpoints", "{} is {}, beyond the largest value of fp16, 65504; bf16 and fp32 hold it",
                      place_of(name_of_weight(tensor), part.box, i), x);
  }
  if (magnitude < smallest_normal && x != 0) ++(magnitude == 0 ? small_.zero : small_.subnormal);
  return rounded;
}

std::uint16_t Rounding::brain(float x, std::int64_t i, const StoredTensor& tensor, const Part& part) {
  constexpr std::uint16_t infinity = 0x7F80;
  const std::uint16_t rounded = bf16::encode(x);
  if ((rounded & 0x7FFF) == infinity) {
    throw usage_error("checkpoints", "{} is {}, beyond the largest value of bf16, 3.39e38; fp32 holds it",
                      place_of(name_of_weight(tensor), part.box, i), x);
  }
  return rounded;
}

const void* Rounding::operator()(const void* master, const StoredTensor& tensor, const Part& part) {
  const auto* from = static_cast<const float*>(master);
  const std::int64_t elements = part.box.extent.elements();
  expect_finite({from, static_cast<std::size_t>(elements)}, name_of_weight(tensor), part.box,
                "a model that has diverged is not exported (octet checkpoint list shows the loss of each checkpoint)");
  if (to_ == WeightType::fp32) return master;
  rounded_.resize(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    rounded_[static_cast<std::size_t>(i)] =
        to_ == WeightType::bf16 ? brain(from[i], i, tensor, part) : half(from[i], i, tensor, part);
  }
  return rounded_.data();
}

namespace {

constexpr std::uint32_t half_infinity = 0x7C00, half_quiet_nan = 0x7E00;
constexpr std::uint32_t smallest_normal = 0x38800000;  // 2^-14 as a float
constexpr std::uint32_t first_infinite = 0x477FF000;   // 65520, half-way between 65504 and 2^16, of which 2^16 is even
constexpr std::uint32_t float_infinity = 0x7F800000;

}  // namespace

float from_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, exponent = (half >> 10) & 31u;
  const std::uint32_t fraction = half & 0x3FFu;
  if (exponent == 0) {  // zero and subnormal numbers: multiples of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t widened = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

std::uint16_t to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half = 0;
  if (magnitude > float_infinity) {
    half = half_quiet_nan;
  } else if (magnitude >= first_infinite) {
    half = half_infinity;
  } else if (magnitude >= smallest_normal) {
    // 13 bits go; a carry out of the fraction is the next exponent, as it should be.
    half = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  } else {
    half = static_cast<std::uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f));
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace octet::checkpoint
