#pragma once

#include "src/ops/recipe.h"

namespace octet {

/// What all fp8 recipes have in common: the run's settings, and their words.
class Float8Recipe : public Recipe {
 public:
  bool float8() const override { return true; }
  const Float8Sums& sums() const override { return sums_; }
  bool gathers_float8() const override { return casts_first() && decided(config_.all_gather, true); }
  bool power_of_two() const override;
  /// cuBLASLt, "Using FP8": from Ada on.
  bool runs_on(int compute_capability) const override { return compute_capability >= 89; }
  std::string_view gpus() const override { return "compute capability 8.9 or later"; }
  std::string describe() const override;

 protected:
  /// `scales`: what shares a scale, in words; `power_of_two`: what `auto` stands for.
  Float8Recipe(const Float8Config& config, std::string_view scales, bool power_of_two = false);

  const Float8Config& config() const { return config_; }
  /// What the description has to add: "; history 16 steps".
  virtual std::string more() const { return {}; }

 private:
  Float8Config config_;
  std::string_view scales_;
  bool power_of_two_;
  Float8Sums sums_;
};

}  // namespace octet
