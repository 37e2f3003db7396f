#include "src/parallel/gradient_norm.h"

namespace octet {

GradientNorm::GradientNorm(const ParameterList& list, Device& device, Stream& stream)
    : device_(device),
      stream_(stream),
      kernels_(kernels_of(stream)),
      parameters_(static_cast<std::int64_t>(list.parameters.size())),
      values_(device, 4 * 4, Purpose::workspace),
      sums_(device, parameters_ * 4, Purpose::workspace),
      counters_(device, parameters_ * 4, Purpose::workspace) {
  device.zero(values_.data(), values_.bytes(), stream);
  reset_counters();
}

void GradientNorm::compute(const ShardedBuffer& gradients, Communicator& shard_group, float max_norm) {
  auto* values = values_.as<float>();
  for (std::int64_t i = 0; i < parameters_; ++i) {
    const auto index = static_cast<std::size_t>(i);
    kernels_.sum_of_squares(stream_, {.x = gradients.data(index),
                                      .n = gradients.layout().shard(index).elements(),
                                      .out = sums_.as<float>() + i,
                                      .non_finite = non_finite() + i});
  }
  kernels_.sum(stream_, {.x = sums_.as<float>(), .n = parameters_, .out = values + 3});
  shard_group.all_reduce(values + 3, 1, DType::f32, ReduceOp::sum);
  kernels_.clip_factor(stream_, {.sum_of_squares = values + 3,
                                 .max_norm = max_norm,
                                 .norm = values,
                                 .factor = values + 1,
                                 .skip = reinterpret_cast<std::uint32_t*>(values + 2)});
}

}  // namespace octet
