#include "src/ops/reduce.h"

#include "src/ops/expect.h"

namespace octet {

void add_sum(OpContext& context, const float* x, std::int64_t n, float* total) {
  const ArenaScope scope(context.scratch);
  auto* sum = context.scratch.allocate<float>(1);
  context.kernels.sum(context.stream, {.x = x, .n = n, .out = sum});
  context.kernels.accumulate(context.stream, {.x = sum, .y = total, .n = 1});
}

void leave_gradient(OpContext& context, const Tensor& gradient, const GradientTarget& target) {
  const Expect expect{"gradient"};
  expect.is("what is left", gradient, DType::f32, target.tensor.shape);
  expect.is("its target", target.tensor, DType::f32, gradient.shape);
  if (!target.accumulate) {
    return context.stream.device().copy(target.tensor.data, gradient.data, gradient.bytes(), context.stream);
  }
  context.kernels.accumulate(context.stream,
                             {.x = gradient.as<float>(), .y = target.tensor.as<float>(), .n = gradient.elements()});
}

}  // namespace octet
