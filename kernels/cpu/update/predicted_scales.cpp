#include "kernels/predicted_scales.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/update/adamw_update.h"

namespace octet::cpu {
namespace {

/// The element as the update will leave it.
float next(const AdamWUpdate& u, std::int64_t at) {
  float parameter = u.parameter[at], first = u.first_moment[at], second = u.second_moment[at];
  if (!is_skipped(u)) update_elements(u, at, 1, &parameter, &first, &second);
  return parameter;
}

}  // namespace

void predict_scales(Stream& stream, const PredictScales& args) {
  for (const AdamWUpdate& u : args.of.all()) {
    const ScalePrediction& to = u.prediction;
    if (to.leader == nullptr) continue;
    const float amax = std::abs(next(u, *to.leader));
    float inverse = 0;
    compute_scales(stream, {.amax = &amax,
                            .scale = to.scale,
                            .inverse_scale = &inverse,
                            .n = 1,
                            .format = DType::e4m3,
                            .power_of_two = to.power_of_two});
  }
}

void recast_float8(Stream& stream, const RecastFloat8& args) {
  if (std::bit_cast<std::uint32_t>(*args.written_by) == std::bit_cast<std::uint32_t>(*args.scale)) return;
  cast_to_float8(stream, {.x = args.x, .from = DType::f32, .y = args.y, .n = args.n, .scale = args.scale});
  const std::uint32_t amax = StatsFold::magnitude(*args.amax);
  std::int64_t leader = args.n;
#pragma omp parallel for reduction(min : leader)
  for (std::int64_t i = 0; i < args.n; ++i) {
    if (StatsFold::magnitude(args.x[i]) == amax) leader = std::min(leader, i);
  }
  if (leader < args.n) *args.leader = leader;
}

}  // namespace octet::cpu
