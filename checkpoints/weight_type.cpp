#include "checkpoints/weight_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "checkpoints/half.h"
#include "src/base/bfloat16.h"
#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

constexpr std::array<WeightTypeNames, 3> names = {{
    {"fp32", "F32", "float32"},
    {"bf16", "BF16", "bfloat16"},
    {"fp16", "F16", "float16"},
}};

bool is_number(float x) {
  return std::isfinite(x);
}

/// "layers.0.attention.wq.weight[3,17]".
std::string place_of(std::int64_t element, const StoredTensor& tensor, const Part& part) {
  constexpr std::string_view master = "master/";
  const std::string name = tensor.name.starts_with(master) ? tensor.name.substr(master.size()) : tensor.name;
  const std::int64_t columns = tensor.shape.row_elements(), row = part.box.offset[0] + element / columns;
  return tensor.shape.rank() == 1 ? fmt::format("{}[{}]", name, row)
                                  : fmt::format("{}[{},{}]", name, row, element % columns);
}

/// A model that has diverged is nothing to hand on.
void expect_numbers(std::span<const float> values, const StoredTensor& tensor, const Part& part) {
  const auto first = std::ranges::find_if_not(values, is_number);
  if (first == values.end()) return;
  const auto more = std::count_if(first + 1, values.end(), [](float x) { return !is_number(x); });
  throw usage_error("checkpoints",
                    "{} is {}{}; expected finite weights: a model that has diverged is not exported (octet checkpoint "
                    "list shows the loss of each checkpoint)",
                    place_of(first - values.begin(), tensor, part), *first,
                    more == 0 ? "" : fmt::format(", and so are {} more near it", more));
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
                      place_of(i, tensor, part), x);
  }
  if (magnitude < smallest_normal && x != 0) ++(magnitude == 0 ? small_.zero : small_.subnormal);
  return rounded;
}

std::uint16_t Rounding::brain(float x, std::int64_t i, const StoredTensor& tensor, const Part& part) {
  constexpr std::uint16_t infinity = 0x7F80;
  const std::uint16_t rounded = bf16::encode(x);
  if ((rounded & 0x7FFF) == infinity) {
    throw usage_error("checkpoints", "{} is {}, beyond the largest value of bf16, 3.39e38; fp32 holds it",
                      place_of(i, tensor, part), x);
  }
  return rounded;
}

const void* Rounding::operator()(const void* master, const StoredTensor& tensor, const Part& part) {
  const auto* from = static_cast<const float*>(master);
  const std::int64_t elements = part.box.extent.elements();
  expect_numbers({from, static_cast<std::size_t>(elements)}, tensor, part);
  if (to_ == WeightType::fp32) return master;
  rounded_.resize(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    rounded_[static_cast<std::size_t>(i)] =
        to_ == WeightType::bf16 ? brain(from[i], i, tensor, part) : half(from[i], i, tensor, part);
  }
  return rounded_.data();
}

}  // namespace octet::checkpoint
