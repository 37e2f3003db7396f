#pragma once

#include "src/tensor/tensor.h"

namespace octet {

/// Kernels get pointers and sizes and believe them. So every op says here what its tensors have to be; one that is
/// something else is an internal error that names the op, the tensor and both shapes. The data is not looked at: a dry
/// run has none.
struct Expect {
  const char* op;

  void is(const char* tensor, const Tensor& t, DType dtype, const Shape& shape) const;
  /// `like`: another tensor of the op, whose dtype and shape are the measure.
  void same(const char* tensor, const Tensor& t, const Tensor& like) const { is(tensor, t, like.dtype, like.shape); }
  /// A matrix of f32 or bf16, of whatever size.
  void matrix(const char* tensor, const Tensor& t) const;
};

}  // namespace octet
