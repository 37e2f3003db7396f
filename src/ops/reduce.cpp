#include "src/ops/reduce.h"

#include "src/ops/expect.h"

namespace octet {

void add_sum(OpContext& op, const float* x, std::int64_t n, float* total) {
  const ArenaScope scope(op.scratch);
  auto* sum = op.scratch.allocate<float>(1);
  op.kernels.sum(op.stream, {.x = x, .n = n, .out = sum});
  op.kernels.accumulate(op.stream, {.x = sum, .y = total, .n = 1});
}

void leave_gradient(OpContext& op, const Tensor& gradient, const GradientTarget& target) {
  const Expect expect{"gradient"};
  expect.is("what is left", gradient, DType::f32, target.tensor.shape);
  expect.is("its target", target.tensor, DType::f32, gradient.shape);
  if (!target.accumulate) {
    return op.stream.device().copy(target.tensor.data, gradient.data, gradient.bytes(), op.stream);
  }
  op.kernels.accumulate(op.stream,
                        {.x = gradient.as<float>(), .y = target.tensor.as<float>(), .n = gradient.elements()});
}

}  // namespace octet
