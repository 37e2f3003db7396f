#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "checkpoints/restore/file_parts.h"

namespace octet::checkpoint {

/// As what weights leave for Hugging Face.
enum class WeightType : std::uint8_t { fp32, bf16, fp16 };

/// What others call it: "fp16" here, "F16" in safetensors, "float16" in PyTorch.
struct WeightTypeNames {
  std::string_view ours, safetensors, torch;
};
const WeightTypeNames& names_of(WeightType type);
/// By our name; nothing for another one.
std::optional<WeightType> weight_type_of(std::string_view name);
std::int64_t size_of(WeightType type);

/// Of how many weights fp16 kept less than its 11 bits.
struct SmallWeights {
  std::int64_t subnormal = 0;  ///< below 2^-14, not 0
  std::int64_t zero = 0;       ///< that became 0 and were not
};

/// Master weights in another type, rounded to nearest even, in memory that is used again.
class Rounding {
 public:
  explicit Rounding(WeightType to) : to_(to) {}

  /// The part's elements, valid until the next call. Usage error that names the tensor, the place and the value where
  /// one is NaN or infinite, or beyond what fp16 or bf16 holds.
  const void* operator()(const void* master, const StoredTensor& tensor, const Part& part);
  const SmallWeights& small() const { return small_; }

 private:
  std::uint16_t half(float x, std::int64_t i, const StoredTensor& tensor, const Part& part);
  std::uint16_t brain(float x, std::int64_t i, const StoredTensor& tensor, const Part& part);

  WeightType to_;
  std::vector<std::uint16_t> rounded_;
  SmallWeights small_;
};

// IEEE half precision (binary16) as bits, in which weights are stored and never computed with.

/// Every half is a float.
float from_half(std::uint16_t half);

/// Rounded to nearest even, subnormal numbers included. What rounds beyond the largest finite half, 65504, becomes an
/// infinity, which the caller looks for; a NaN stays one.
std::uint16_t to_half(float x);

}  // namespace octet::checkpoint
