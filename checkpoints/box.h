#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "checkpoints/format.h"

namespace octet::checkpoint {

/// A shape of 1 to 4 extents known at run time. Throws an internal error for another number.
Shape make_shape(std::span<const std::int64_t> extents);

/// All of a tensor.
Box whole(const Shape& shape);

/// Says whether offset and extent are those of a rectangle with at least one element that lies in `shape`.
bool lies_in(const Box& box, const Shape& shape);

/// The common rectangle of two boxes of the same tensor; nothing when it is empty.
std::optional<Box> intersection(const Box& a, const Box& b);

/// `box` in the coordinates of `frame`, which contains it.
Box relative_to(const Box& box, const Box& frame);

/// Says whether the elements of `part` (relative to an array of `extent`) lie side by side in row-major order.
bool is_contiguous(const Box& part, const Shape& extent);

/// Row-major index of the first element of `part` in an array of `extent`.
std::int64_t first_element(const Box& part, const Shape& extent);

/// "[128, 0] + [64, 512]": offset and extent.
std::string text(const Box& box);

}  // namespace octet::checkpoint
