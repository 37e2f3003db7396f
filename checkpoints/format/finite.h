#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "checkpoints/format/format.h"

namespace octet::checkpoint {

/// Why weights to begin with have to be finite.
inline constexpr std::string_view nothing_to_learn_from =
    "a model that has diverged is nothing to train on (of a run, name a checkpoint before that)";

/// "layers.0.attention.wq.weight[3,17]": where an element of that box, dense and row-major, is in the tensor.
std::string place_of(const std::string& tensor, const Box& box, std::int64_t element);

/// Usage error "TENSOR[3,17] is nan, and so are 2 more near it; expected finite weights: WHY" where one of the box's
/// values, dense and row-major, is NaN or infinite. `tensor`: its name, with a file's before it where there is one.
void expect_finite(std::span<const float> values, const std::string& tensor, const Box& box, std::string_view why);

}  // namespace octet::checkpoint
