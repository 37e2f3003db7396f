#include "src/tensor/tensor.h"

#include <fmt/ranges.h>

namespace octet {

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > max_rank) throw internal_error("tensor", "a shape of {} dimensions", extents.size());
  for (const std::int64_t e : extents) extents_[static_cast<std::size_t>(rank_++)] = e;
}

std::int64_t Shape::elements() const {
  if (rank_ == 0) return 0;
  std::int64_t n = 1;
  for (int i = 0; i < rank_; ++i) n *= (*this)[i];
  return n;
}

Shape Shape::with_rows(std::int64_t rows) const {
  Shape s = *this;
  s.extents_[0] = rows;
  return s;
}

std::string Shape::text() const {
  return fmt::format("[{}]", fmt::join(list(), ", "));
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t count) const {
  if (along_contraction(scale_form) && (begin != 0 || count != shape[0])) {
    throw internal_error("tensor", "rows {} to {} of {} {} with scales of {}: their scales lie in the whole's order",
                         begin, begin + count, name_of(dtype), shape.text(), name_of(scale_form));
  }
  Tensor t = *this;
  if (data != nullptr) t.data = static_cast<char*>(data) + begin * shape.row_elements() * size_of(dtype);
  t.shape = shape.with_rows(count);
  if (scale_form == ScaleForm::each && scale_dim == 0 && inverse_scale != nullptr) t.inverse_scale += begin;
  return t;
}

}  // namespace octet
