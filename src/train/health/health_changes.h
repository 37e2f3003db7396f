#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/device/nvml.h"

namespace octet {

/// A line for the log about a GPU. A warning where something is wrong with it or its surroundings.
struct HealthNote {
  bool warning = false;
  std::string text;

  bool operator==(const HealthNote&) const = default;
};

/// Finds what has changed from one reading of a GPU to the next. Absent readings are no change.
class HealthChanges {
 public:
  /// A note for each change. What a GPU should not have counts as changed in the first reading: uncorrected
  /// errors, rows that are pending or failed, slowdowns. Changes are:
  ///
  /// - Xids, each; ECC counts and remapped rows that went up; a GPU that NVML cannot use, once.
  /// - Slowdowns (clock_reasons::slowdowns) when they begin and when they end. Other reasons, normal in training, when
  ///   they are seen for the first time; not those of the first reading.
  /// - An SM clock more than a tenth away from that of the last line that named it. Not of an idle GPU.
  std::vector<HealthNote> of(const DeviceReadings& now);

 private:
  void unusable(const DeviceReadings& now);
  void errors(const DeviceReadings& now);
  void rows(const DeviceReadings& now);
  void clocks(const DeviceReadings& now);
  void note(bool warning, std::string text) { notes_.push_back({warning, std::move(text)}); }

  std::string unusable_;
  std::optional<std::uint64_t> corrected_{};  ///< none: not read yet
  std::uint64_t uncorrected_ = 0;
  std::optional<RemappedRows> rows_{};
  std::uint64_t slowdowns_ = 0;
  std::optional<std::uint64_t> normal_{};  ///< reasons that were seen; none: not read yet
  std::uint32_t sm_mhz_ = 0;               ///< of the last line with it; 0: none
  std::vector<HealthNote> notes_{};
};

/// All readings in one line, and what is not supported.
std::string describe(const DeviceReadings& now);

}  // namespace octet
