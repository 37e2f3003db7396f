#include "src/ops/expect.h"

#include "src/base/error.h"

namespace octet {

void Expect::is(const char* tensor, const Tensor& t, DType dtype, const Shape& shape) const {
  if (t.dtype == dtype && t.shape == shape) return;
  throw internal_error("ops", "{}: {} is {} {}, expected {} {}", op, tensor, name_of(t.dtype), t.shape.text(),
                       name_of(dtype), shape.text());
}

void Expect::matrix(const char* tensor, const Tensor& t) const {
  if (t.shape.rank() == 2 && (t.dtype == DType::f32 || t.dtype == DType::bf16)) return;
  throw internal_error("ops", "{}: {} is {} {}, expected a matrix of f32 or bf16", op, tensor, name_of(t.dtype),
                       t.shape.text());
}

}  // namespace octet
