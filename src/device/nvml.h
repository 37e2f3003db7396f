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
  std::optional<std::uint64_t> clock_reasons;  ///< bits of src/device/clock_reasons.h
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
