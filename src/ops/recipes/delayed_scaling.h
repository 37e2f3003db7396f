#pragma once

#include "src/device/host_buffer.h"
#include "src/ops/scaling.h"

namespace octet {

struct DelayedSettings {
  std::int64_t history = 1;  ///< steps
  int margin = 0;            ///< powers of two that the largest value stays below the format's
  bool most_recent = false;  ///< the newest abs-max counts alone
  bool power_of_two = false;

  static DelayedSettings of(const Float8Config& float8, bool power_of_two);
};

/// TransformerEngine's delayed scaling: a cast takes the scale that the abs-maxes of the steps before say (the formulas
/// stand in kernels/delayed.h), and what is larger than that allows saturates. The first step scales dynamically. The
/// abs-max of a step is that of all its recorded passes and of all ranks; of a weight, that of the step's own weights.
/// The scales of the first step are each micro-batch's own, in memory of its own: several may be under way.
///
/// One row a value for all casts of the model: inputs, weights, gradients.
class DelayedScaling final : public Float8Scaling {
 public:
  DelayedScaling(const CastCounts& casts, const DelayedSettings& settings, Stream& stream);

  bool known() const override { return steps_ > 0; }
  QuantScale values(CastKind kind, std::int64_t index, Arena& arena) const override;
  QuantScale weights() const override;

  void record(Stream& stream, const KernelTable& kernels, CastKind kind, std::int64_t first, std::int64_t count,
              const float* amax) override;
  std::span<float> recorded() const override { return {row(row_recorded), static_cast<std::size_t>(casts_.total())}; }
  void finish_step(Stream& stream, const KernelTable& kernels) override;

  void reset(Stream& stream) override;
  std::vector<State> state() const override;
  void state_loaded(Stream& stream) override;

 private:
  enum Row : int { row_recorded, row_scale, row_history };

  std::int64_t bytes() const;
  float* inverse(std::int64_t cast) const;
  float* row(int index) const;
  QuantScale at(std::int64_t cast) const;  ///< without an abs-max
  std::int64_t first_of(CastKind kind) const;
  std::int32_t* device_steps() const;

  CastCounts casts_;
  DelayedSettings settings_;
  Device& device_;
  /// Inverse scales [casts, stride], rows [2 + history, casts], abs-maxes [weights] and the number of steps.
  Buffer values_;
  std::int32_t steps_ = 0;    ///< finished steps that the history knows of
  HostBuffer steps_to_copy_;  ///< [2], in turns: two steps at most are under way
};

}  // namespace octet
