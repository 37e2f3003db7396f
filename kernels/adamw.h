#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>

#include "kernels/stats.h"
#include "src/base/dtype.h"
#include "src/base/error.h"

namespace octet {

/// A scale of fp8 codes that is predicted before the update that writes them (kernels/predicted_scales.h).
struct ScalePrediction {
  const std::int64_t* leader = nullptr;  ///< device; null: nothing is predicted
  float* scale = nullptr;                ///< device; where the prediction goes
  bool power_of_two = false;             ///< ComputeScales'

  bool operator==(const ScalePrediction&) const = default;
};

/// One decoupled-weight-decay Adam update of a parameter shard (Loshchilov & Hutter, arXiv:1711.05101), in the order
/// of torch.optim.AdamW:  g = gradient · *gradient_scale;  p *= 1 - lr·wd;  m += (g - m)·(1 - beta1);
/// v = beta2·v + (1 - beta2)·g²;  p -= lr/bias1 · m / (sqrt(v)/sqrt(bias2) + eps).
/// Elements beyond n (padding) are never touched.
struct AdamWUpdate {
  float* parameter = nullptr;         ///< [n]
  float* first_moment = nullptr;      ///< [n]
  float* second_moment = nullptr;     ///< [n]
  const void* gradient = nullptr;     ///< [n]
  DType gradient_dtype = DType::f32;  ///< f32 or bf16, which has the bits of the same values in f32
  std::int64_t n = 0;
  // Host scalars in double, as torch's are: 1 - beta2 from a float beta2 of 0.999 would be wrong by 1e-5.
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;
  double bias1 = 1;                       ///< 1 - beta1^step
  double bias2 = 1;                       ///< 1 - beta2^step
  const float* gradient_scale = nullptr;  ///< device: the clip factor
  const std::uint32_t* skip = nullptr;    ///< device: when non-zero nothing is changed
  /// Where the new parameter goes in another form too: `rounded` or float8.y, not transposed, or neither.
  void* rounded = nullptr;       ///< [n], bf16
  Float8Out float8{};            ///< [n], e4m3: the parameter as it is left, also by a step that is skipped
  ScalePrediction prediction{};  ///< of float8's scale; the update itself does not read it
  StatsOut stats{};              ///< of the parameter as it is left; non_finite is not used
  /// The most multiprocessors of a GPU that the update may take. It takes each of them whole, so that the others are
  /// free for work beside it; 0 means all. The CPU has no use for it.
  std::int64_t multiprocessors = 0;

  std::int64_t bytes_moved() const {
    return n * (24 + size_of(gradient_dtype) + (rounded == nullptr ? 0 : 2) + float8.forms());
  }
  bool operator==(const AdamWUpdate&) const = default;
};

/// Updates that go together, such as a unit's: they differ in tensors, gradient_dtype and weight_decay alone. A GPU
/// whose multiprocessors they have a part of does them in one launch, since another launch's blocks would have to find
/// room there again.
struct AdamWUpdates {
  static constexpr std::size_t most = 12;  ///< in a launch; the largest unit, a block, has nine parameters

  AdamWUpdates() = default;
  AdamWUpdates(const AdamWUpdate& one) : updates{one}, count(1) {}  // NOLINT(google-explicit-constructor)
  std::array<AdamWUpdate, most> updates{};
  std::size_t count = 0;

  std::span<const AdamWUpdate> all() const { return std::span(updates).first(count); }
  /// An internal error for one more than there may be, and for one that does not go with the first.
  void add(const AdamWUpdate& update);
  std::int64_t bytes_moved() const {
    return std::accumulate(updates.begin(), updates.begin() + count, std::int64_t{0},
                           [](std::int64_t bytes, const AdamWUpdate& u) { return bytes + u.bytes_moved(); });
  }
  bool operator==(const AdamWUpdates&) const = default;
};

inline void AdamWUpdates::add(const AdamWUpdate& update) {
  const auto shared = [](const AdamWUpdate& u) {
    return std::tuple(u.lr, u.beta1, u.beta2, u.eps, u.bias1, u.bias2, u.gradient_scale, u.skip, u.multiprocessors);
  };
  if (count == most) throw internal_error("kernels", "more than {} updates of AdamW at once", most);
  if (count > 0 && shared(update) != shared(updates[0])) {
    throw internal_error("kernels", "updates of AdamW at once with other numbers than the first");
  }
  updates[count++] = update;
}

/// The scalars of one update, formed in double on the host and rounded once, as torch's arguments are: the same on
/// every device.
struct AdamWFactors {
  float decay, first, beta2, second, step, root_bias2, eps;
};

inline AdamWFactors factors_of(const AdamWUpdate& args) {
  return {.decay = static_cast<float>(1.0 - args.lr * args.weight_decay),
          .first = static_cast<float>(1.0 - args.beta1),
          .beta2 = static_cast<float>(args.beta2),
          .second = static_cast<float>(1.0 - args.beta2),
          .step = static_cast<float>(args.lr / args.bias1),
          .root_bias2 = static_cast<float>(std::sqrt(args.bias2)),
          .eps = static_cast<float>(args.eps)};
}

}  // namespace octet
