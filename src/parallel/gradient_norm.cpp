#include "src/parallel/gradient_norm.h"

#include <algorithm>

namespace octet {
namespace {

/// What the sums of squares of any rank's pieces need.
std::int64_t workspace_bytes(const ParameterList& list, const KernelTable& kernels) {
  std::int64_t most = 0;
  for (const ParameterSpec& p : list.parameters) {
    most = std::max(most, kernels.sum_of_squares_workspace({.n = p.shape.elements()}));
  }
  return most;
}

}  // namespace

GradientNorm::GradientNorm(const ParameterList& list, bool counts_first, Device& device, Stream& stream)
    : device_(device),
      stream_(stream),
      kernels_(kernels_of(stream)),
      parameters_(static_cast<std::int64_t>(list.parameters.size())),
      values_(device, 4 * 4, Purpose::workspace),
      sums_(device, parameters_ * 4, Purpose::workspace),
      counters_(device, static_cast<std::int64_t>(list.ids) * 4, Purpose::workspace),
      workspace_(device, workspace_bytes(list, kernels_), Purpose::workspace) {
  for (const ParameterSpec& p : list.parameters) {
    counted_.push_back(!p.cut.replicated() || p.cut.part.index == 0);
    ids_.push_back(p.id);
  }
  if (!counts_first) counted_.front() = false;
  device.zero(values_.data(), values_.bytes(), stream);
  device.zero(workspace_.data(), workspace_.bytes(), stream);
  reset_counters();
}

void GradientNorm::compute(const ShardedBuffer& gradients, Communicator& model_copy, Communicator& other_copies,
                           float max_norm) {
  auto* values = values_.as<float>();
  for (std::int64_t i = 0; i < parameters_; ++i) {
    const auto index = static_cast<std::size_t>(i);
    kernels_.sum_of_squares(stream_, {.x = gradients.piece(index),
                                      .dtype = gradients.dtype(index),
                                      .n = counted_[index] ? gradients.layout().shard(index).elements() : 0,
                                      .out = sums_.as<float>() + i,
                                      .non_finite = non_finite() + ids_[index],
                                      .workspace = workspace_.data()});
  }
  kernels_.sum(stream_, {.x = sums_.as<float>(), .n = parameters_, .out = values + 3});
  model_copy.all_reduce(values + 3, 1, DType::f32, ReduceOp::sum);
  if (other_copies.size() > 1) other_copies.all_reduce(values + 3, 1, DType::f32, ReduceOp::max);
  kernels_.clip_factor(stream_, {.sum_of_squares = values + 3,
                                 .max_norm = max_norm,
                                 .norm = values,
                                 .factor = values + 1,
                                 .skip = reinterpret_cast<std::uint32_t*>(values + 2)});
}

}  // namespace octet
