#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// Rows of a GPU's memory that were replaced by spare ones.
struct RemappedRows {
  std::uint32_t corrected = 0, uncorrected = 0;  ///< by the kind of error that was the reason
  bool pending = false;                          ///< more are to be, at the next reset
  bool failure = false;                          ///< one could not be, ever

  bool operator==(const RemappedRows&) const = default;
};

/// What NVML says of a GPU at one moment. What it does not support, or does not tell, is absent.
struct DeviceReadings {
  std::optional<std::uint32_t> sm_mhz, memory_mhz;
  std::optional<std::uint64_t> clock_reasons;  ///< bits of clock_reasons, below
  std::optional<std::uint32_t> celsius;
  std::optional<double> watts;
  std::optional<std::uint64_t> ecc_corrected, ecc_uncorrected;  ///< since the driver was loaded
  std::optional<RemappedRows> rows;
  std::optional<std::vector<std::uint64_t>> xids;  ///< since the last reading, in order
  std::string unusable;                            ///< NVML's words where the GPU is lost or must be reset, else empty
};

/// A GPU as NVML, the driver's management library, sees it. One thread at a time.
class NvmlDevice {
 public:
  static constexpr const char* library_name = "libnvidia-ml.so.1";

  /// `pci_bus_id`: Device::pci_bus_id(). Usage error when NVML is not there, does not start or does not know the
  /// device. Xids are kept from now on.
  explicit NvmlDevice(const std::string& pci_bus_id, const std::string& library = library_name);
  ~NvmlDevice();
  NvmlDevice(const NvmlDevice&) = delete;
  NvmlDevice& operator=(const NvmlDevice&) = delete;

  /// Some milliseconds; waits for no work of the GPU, and for no event.
  DeviceReadings read();

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

}  // namespace octet

namespace octet::clock_reasons {

/// Why a GPU's clocks are not higher: nvmlClocksEventReasons (nvmlClocksThrottleReasons of older drivers) of nvml.h.
enum : std::uint64_t {
  idle = 0x1,               ///< nothing to do
  setting = 0x2,            ///< clocks that a person or program has set
  power_cap = 0x4,          ///< the power limit: normal in training
  hardware_slowdown = 0x8,  ///< to half or less: heat, a power brake or a draw that is too high
  sync_boost = 0x10,        ///< held to the clocks of another GPU
  software_thermal = 0x20,  ///< the driver keeps GPU or memory below their temperature
  hardware_thermal = 0x40,  ///< to half or less, for heat
  power_brake = 0x80,       ///< to half or less, asked for by the power supply
  display_setting = 0x100,
};

/// The reasons that mean that something is wrong with cooling or power.
constexpr std::uint64_t slowdowns = hardware_slowdown | software_thermal | hardware_thermal | power_brake;

/// "power cap, hardware thermal slowdown"; "none" for 0.
std::string names(std::uint64_t bits);

}  // namespace octet::clock_reasons
