#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// Says what unit of the model the main thread works for ("block.3"), for the watchdog, the traces and NVTX. Nests.
/// Main thread only; `name` must outlive the scope.
class UnitScope {
 public:
  explicit UnitScope(std::string_view name);
  ~UnitScope();
  UnitScope(const UnitScope&) = delete;
  UnitScope& operator=(const UnitScope&) = delete;

  /// Name of the innermost unit, empty outside of any.
  static std::string_view current();

 private:
  std::string_view outer_;
};

/// What a training step does with a unit; weight_gradients where a pass makes them apart. `phase` in the timeline's
/// files.
enum class StepPart : std::uint8_t { other, data, forward, recompute, backward, weight_gradients, optimizer };

constexpr auto names_of(StepPart) {
  return std::to_array<std::string_view>(
      {"other", "data", "forward", "recompute", "backward", "weight gradients", "optimizer"});
}

/// Says which part of the step the main thread is in; outside of any it is `other`. Nests. Main thread only.
class StepPartScope {
 public:
  explicit StepPartScope(StepPart part);
  ~StepPartScope();
  StepPartScope(const StepPartScope&) = delete;
  StepPartScope& operator=(const StepPartScope&) = delete;

  static StepPart current();

 private:
  StepPart outer_;
};

}  // namespace octet
