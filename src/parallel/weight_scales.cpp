#include "src/parallel/weight_scales.h"

#include <algorithm>

namespace octet {
namespace {

/// Bytes of one weight: its inverse scale with the room behind it, its leader, its abs-max, its scale and a prediction.
constexpr std::int64_t bytes_a_weight = inverse_scale_stride * 4 + 8 + 3 * 4;

}  // namespace

WeightScales::WeightScales(const ParameterList& list, const ShardLayout& layout, Device& device, Stream& stream,
                           const Float8Scaling& scaling, bool power_of_two)
    : layout_(layout),
      device_(device),
      stream_(stream),
      scaling_(scaling),
      power_of_two_(power_of_two),
      first_(scaling.weights()) {
  std::int64_t begin = list.casts, end = 0;
  for (const ParameterSpec& p : list.parameters) {
    if (p.cast < 0) continue;
    begin = std::min(begin, p.cast);
    end = p.cast + 1;
  }
  count_ = std::max<std::int64_t>(end - begin, 0);
  for (const ParameterSpec& p : list.parameters) casts_.push_back(p.cast < 0 ? -1 : p.cast - begin);
  if (first_.amax != nullptr) {
    first_ = {first_.amax + begin, first_.scale + begin, first_.inverse + begin * inverse_scale_stride, first_.known};
    return;
  }
  values_ = Buffer(device, bytes_a_weight * count_, Purpose::parameters);
  auto* inverses = values_.as<float>();
  leaders_ = reinterpret_cast<std::int64_t*>(inverses + count_ * inverse_scale_stride);
  auto* amaxes = reinterpret_cast<float*>(leaders_ + count_);
  first_ = {amaxes, amaxes + count_, inverses};
  predicted_ = amaxes + 2 * count_;
  device.zero(values_.data(), values_.bytes(), stream);
}

void WeightScales::clear() {
  device_.zero(first_.amax, count_ * 4, stream_);
}

void WeightScales::measure(const ShardedBuffer& master, const KernelTable& kernels) {
  clear();
  for (std::size_t i = 0; i < casts_.size(); ++i) {
    if (amax(i) == nullptr) continue;
    kernels.stats(stream_, {.x = master.data(i),
                            .dtype = DType::f32,
                            .n = layout_.shard(i).elements(),
                            .out = {.amax = amax(i), .non_finite = nullptr}});
  }
}

void WeightScales::update(Communicator& replica, const KernelTable& kernels) {
  if (!computes()) return;
  replica.all_reduce(first_.amax, count_, DType::f32, ReduceOp::max);
  compute(0, count_, stream_, kernels);
}

void WeightScales::update_whole(std::size_t begin, std::size_t end, Stream& stream, const KernelTable& kernels) {
  if (!computes()) return;
  std::int64_t first = count_, last = -1;
  for (std::size_t i = begin; i < end; ++i) {
    if (casts_[i] < 0) continue;
    first = std::min(first, casts_[i]);
    last = casts_[i];
  }
  if (last >= first) compute(first, last - first + 1, stream, kernels);
}

void WeightScales::recast(std::size_t i, const float* master, std::int64_t n, void* y, Stream& stream,
                          const KernelTable& kernels) {
  kernels.recast_float8(stream, {.x = master,
                                 .y = y,
                                 .n = n,
                                 .written_by = predicted(i),
                                 .scale = scale(i),
                                 .amax = amax(i),
                                 .leader = leader(i)});
}

void WeightScales::compute(std::int64_t first, std::int64_t count, Stream& stream, const KernelTable& kernels) {
  kernels.compute_scales(stream, {.amax = first_.amax + first,
                                  .scale = first_.scale + first,
                                  .inverse_scale = first_.inverse + first * inverse_scale_stride,
                                  .n = count,
                                  .format = DType::e4m3,
                                  .power_of_two = power_of_two_});
}

void WeightScales::measure_gathered(std::size_t i, const Tensor& gathered, Communicator& tp,
                                    const KernelTable& kernels) {
  if (values_.empty()) return;  // a recipe that remembers: scales of the masters, in its first step too
  device_.zero(amax(i), 4, stream_);
  kernels.stats(stream_, {.x = gathered.data,
                          .dtype = gathered.dtype,
                          .n = gathered.elements(),
                          .out = {.amax = amax(i), .non_finite = nullptr}});
  if (tp.size() > 1) tp.all_reduce(amax(i), 1, DType::f32, ReduceOp::max);
  compute(casts_[i], 1, stream_, kernels);
}

}  // namespace octet
