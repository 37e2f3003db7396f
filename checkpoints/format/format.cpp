#include "checkpoints/format/format.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace octet::checkpoint {

std::string dataset_name(const std::string& tensor, const Box& box) {
  const auto* offset = box.offset.data();
  return fmt::format("{}/@{}", tensor, fmt::join(offset, offset + box.extent.rank(), ","));
}

namespace {

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Shape make_shape(std::span<const std::int64_t> e) {
  if (!e.empty() && e.size() <= Shape::max_rank) return Shape(e);
  throw internal_error("checkpoints", "a tensor of {} dimensions, expected 1 to {}", e.size(), Shape::max_rank);
}

Box whole(const Shape& shape) {
  return {{}, shape};
}

bool lies_in(const Box& box, const Shape& shape) {
  if (box.extent.rank() != shape.rank() || shape.rank() == 0) return false;
  for (int i = 0; i < Shape::max_rank; ++i) {
    const std::int64_t offset = box.offset[index(i)];
    if (i >= shape.rank() ? offset != 0 : offset < 0 || box.extent[i] < 1 || offset > shape[i] - box.extent[i]) {
      return false;
    }
  }
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  const int rank = a.extent.rank();
  Box common;
  std::array<std::int64_t, Shape::max_rank> extent{};
  for (int i = 0; i < rank; ++i) {
    const std::int64_t begin = std::max(a.offset[index(i)], b.offset[index(i)]);
    const std::int64_t end = std::min(a.offset[index(i)] + a.extent[i], b.offset[index(i)] + b.extent[i]);
    if (begin >= end) return std::nullopt;
    common.offset[index(i)] = begin;
    extent[index(i)] = end - begin;
  }
  common.extent = make_shape(std::span(extent).first(index(rank)));
  return common;
}

Box relative_to(const Box& box, const Box& frame) {
  Box relative = box;
  for (int i = 0; i < box.extent.rank(); ++i) relative.offset[index(i)] -= frame.offset[index(i)];
  return relative;
}

bool is_contiguous(const Box& part, const Shape& extent) {
  int i = 0;
  while (i < extent.rank() && part.extent[i] == 1) ++i;  // a single index of the outer dimensions,
  ++i;                                                   // a range of one,
  for (; i < extent.rank(); ++i) {                       // and all of the inner ones
    if (part.extent[i] != extent[i]) return false;
  }
  return true;
}

std::int64_t first_element(const Box& part, const Shape& extent) {
  std::int64_t element = 0;
  for (int i = 0; i < extent.rank(); ++i) element = element * extent[i] + part.offset[index(i)];
  return element;
}

std::string text(const Box& box) {
  const auto* offset = box.offset.data();
  return fmt::format("[{}] + {}", fmt::join(offset, offset + box.extent.rank(), ", "), box.extent.text());
}

}  // namespace octet::checkpoint
