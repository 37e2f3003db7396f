#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "src/comm/communicator.h"
#include "src/device/nvml.h"
#include "src/train/health/health_changes.h"

namespace octet {

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

/// Tells the log, on rank 0, whose GPUs are not watched and why. Collective over `control`, on which `health`
/// has the same asked().
void report_unwatched(const DeviceHealth& health, Communicator& control, const std::string& node);

}  // namespace octet
