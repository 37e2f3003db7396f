#include "src/ops/recipes/delayed_scaling.h"

namespace octet {

DelayedSettings DelayedSettings::of(const Float8Config& c, bool power_of_two) {
  return {.history = c.delayed_history,
          .margin = static_cast<int>(c.delayed_margin),
          .most_recent = c.delayed_algorithm == DelayedAlgorithm::most_recent,
          .power_of_two = power_of_two};
}

DelayedScaling::DelayedScaling(const CastCounts& casts, const DelayedSettings& settings, Stream& stream)
    : casts_(casts),
      settings_(settings),
      device_(stream.device()),
      values_(device_, bytes(), Purpose::parameters),
      steps_to_copy_(device_, 2 * sizeof steps_) {
  reset(stream);
}

std::int64_t DelayedScaling::bytes() const {
  return 4 * ((inverse_scale_stride + row_history + settings_.history) * casts_.total() + casts_.weights + 1);
}

float* DelayedScaling::inverse(std::int64_t cast) const {
  return values_.as<float>() + cast * inverse_scale_stride;
}

float* DelayedScaling::row(int index) const {
  return inverse(casts_.total()) + index * casts_.total();
}

std::int32_t* DelayedScaling::device_steps() const {
  return values_.as<std::int32_t>() + bytes() / 4 - 1;
}

QuantScale DelayedScaling::at(std::int64_t cast) const {
  return {nullptr, row(row_scale) + cast, inverse(cast), known()};
}

QuantScale DelayedScaling::weights() const {
  QuantScale first = at(casts_.inputs);
  first.amax = row(row_history) + settings_.history * casts_.total();
  return first;
}

std::int64_t DelayedScaling::first_of(CastKind kind) const {
  const std::int64_t weights = casts_.inputs;
  return kind == CastKind::input ? 0 : kind == CastKind::weight ? weights : weights + casts_.weights;
}

QuantScale DelayedScaling::values(CastKind kind, std::int64_t index, Arena& arena) const {
  return known() ? at(first_of(kind) + index) : QuantScale::allocate(arena);
}

void DelayedScaling::record(Stream& stream, const KernelTable& kernels, CastKind kind, std::int64_t first,
                            std::int64_t count, const float* amax) {
  kernels.record_amax(stream, {.amax = amax, .recorded = row(row_recorded) + first_of(kind) + first, .n = count});
}

void DelayedScaling::finish_step(Stream& stream, const KernelTable& kernels) {
  kernels.delayed_scales(stream, {.recorded = row(row_recorded),
                                  .history = row(row_history),
                                  .scale = row(row_scale),
                                  .inverse_scale = inverse(0),
                                  .n = casts_.total(),
                                  .length = settings_.history,
                                  .e5m2_from = casts_.inputs + casts_.weights,
                                  .margin = settings_.margin,
                                  .most_recent = settings_.most_recent,
                                  .power_of_two = settings_.power_of_two,
                                  .first = !known()});
  auto* host = steps_to_copy_.as<std::int32_t>() + steps_ % 2;
  *host = ++steps_;
  device_.copy_from_host(device_steps(), host, 4, stream);
}

void DelayedScaling::reset(Stream& stream) {
  steps_ = 0;
  device_.zero(values_.data(), values_.bytes(), stream);
}

std::vector<Float8Scaling::State> DelayedScaling::state() const {
  const std::int64_t n = casts_.total();
  return {{"float8/amax_history", {row(row_history), DType::f32, {settings_.history, n}, nullptr}},
          {"float8/scale", {row(row_scale), DType::f32, {n}, nullptr}},
          {"float8/steps", {device_steps(), DType::i32, {1}, nullptr}}};
}

void DelayedScaling::state_loaded(Stream& stream) {
  const auto casts = static_cast<std::size_t>(casts_.total());
  std::vector<float> scales(casts), inverses(casts * inverse_scale_stride);
  const std::int64_t row_bytes = casts_.total() * 4;
  device_.copy_to_host(scales.data(), row(row_scale), row_bytes, stream);
  device_.copy_to_host(&steps_, device_steps(), 4, stream);
  stream.synchronize();
  for (std::size_t i = 0; i < casts; ++i) inverses[i * inverse_scale_stride] = 1.0f / scales[i];
  device_.copy_from_host(inverse(0), inverses.data(), row_bytes * inverse_scale_stride, stream);
  device_.zero(row(row_recorded), row_bytes, stream);
  stream.synchronize();
}

}  // namespace octet
