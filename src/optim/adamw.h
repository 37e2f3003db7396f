#pragma once

#include <cstdint>
#include <span>

#include "kernels/table.h"
#include "src/optim/optimizer_config.h"

namespace octet {

/// One parameter's shard as the optimizer sees it: n elements on the device, fp32 but for the gradient's, which may be
/// bf16.
struct OptimizerSlice {
  float* parameter = nullptr;
  const void* gradient = nullptr;
  DType gradient_dtype = DType::f32;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  std::int64_t n = 0;
  bool decay = true;
  void* rounded = nullptr;  ///< AdamWUpdate's, as the next two
  Float8Out float8{};
  ScalePrediction prediction{};  ///< where it is asked for, the scale is predicted before the update
  float* amax = nullptr;         ///< where the new weight's abs-max goes, or null
};

/// One AdamW step over all slices. `clip_factor` and `skip` stay on the device. `multiprocessors`: AdamWUpdate's.
void adamw_step(Stream& stream, const KernelTable& kernels, const OptimizerConfig& config, double lr, std::int64_t step,
                std::span<const OptimizerSlice> slices, const float* clip_factor, const std::uint32_t* skip,
                std::int64_t multiprocessors = 0);

/// False when the parameter's name contains one of `no_decay`.
bool decays(const OptimizerConfig& config, const std::string& parameter);

}  // namespace octet
