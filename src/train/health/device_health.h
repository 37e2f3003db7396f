#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/comm/communicator.h"
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

/// "SM 1980 MHz, memory 2619 MHz, 61 C, 640.0 W", of what is there.
std::string describe_clocks(const DeviceReadings& now);
/// All readings in one line, and what is not supported.
std::string describe(const DeviceReadings& now);

/// Reads this rank's GPU by NVML on a thread of its own, so that no step waits for NVML, and tells the log what has
/// changed, with rank and node. Looks a last time when it is destroyed.
class DeviceHealth {
 public:
  /// `seconds` between two readings (train.health_seconds); 0, or an empty `pci_bus_id` (a CPU): never. Where NVML is
  /// not there, why_not() says so and nothing is watched.
  DeviceHealth(double seconds, const std::string& pci_bus_id, const std::string& library = NvmlDevice::library_name);
  /// Waits for a reading that is under way; the watchdog knows.
  ~DeviceHealth();
  DeviceHealth(const DeviceHealth&) = delete;
  DeviceHealth& operator=(const DeviceHealth&) = delete;

  /// Says whether it was told to watch a GPU.
  bool asked() const { return asked_; }
  /// The reason why no GPU is watched; empty where the GPU is watched, or none was to be.
  const std::string& why_not() const { return why_not_; }

  /// A reading now, for what may have come just before a failure: returns when it was logged, or after
  /// `patience_seconds`, since NVML may hang with the GPU.
  void look_now(double patience_seconds);

 private:
  void watch();
  void look();
  void tell(bool warning, const std::string& text) const;

  std::string pci_bus_id_;
  bool asked_;
  std::string why_not_;
  std::chrono::duration<double> interval_;
  std::unique_ptr<NvmlDevice> device_;  ///< none: nothing is watched
  HealthChanges changes_;

  std::mutex mutex_;
  std::condition_variable wake_, looked_;
  bool stop_ = false;
  std::int64_t wanted_ = 0, done_ = 0;  ///< looks that look_now asked for
  std::thread thread_;
};

/// Tells the log, on rank 0, whose GPUs are not watched and why. Collective over the hosts, on which `health`
/// has the same asked().
void report_unwatched(const DeviceHealth& health, Communicator& control, const std::string& node);

}  // namespace octet
