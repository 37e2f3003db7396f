#include "checkpoints/format/finite.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

bool is_number(float x) {
  return std::isfinite(x);
}

/// Without a branch for each value, so that it costs little beside reading them.
bool all_numbers(std::span<const float> values) {
  constexpr std::uint32_t exponent = 0x7F800000;
  std::uint32_t found = 0;
  for (const float x : values) found |= (std::bit_cast<std::uint32_t>(x) & exponent) == exponent ? 1u : 0u;
  return found == 0;
}

}  // namespace

std::string place_of(const std::string& tensor, const Box& box, std::int64_t element) {
  if (box.extent.rank() == 1) return fmt::format("{}[{}]", tensor, box.offset[0] + element);
  const std::int64_t columns = box.extent.row_elements();
  return fmt::format("{}[{},{}]", tensor, box.offset[0] + element / columns, box.offset[1] + element % columns);
}

void expect_finite(std::span<const float> values, const std::string& tensor, const Box& box, std::string_view why) {
  if (all_numbers(values)) return;
  const auto first = std::ranges::find_if_not(values, is_number);
  const auto more = std::count_if(first + 1, values.end(), [](float x) { return !is_number(x); });
  throw usage_error("checkpoints", "{} is {}{}; expected finite weights: {}",
                    place_of(tensor, box, first - values.begin()), *first,
                    more == 0 ? "" : fmt::format(", and so are {} more near it", more), why);
}

}  // namespace octet::checkpoint
