#include "src/device/nvml.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/device/nvml_api.h"

namespace octet::nvml {
namespace {

class Session {
 public:
  explicit Session(const Api& api) : api_(api) {
    if (const Return status = api_.init(); status != success) {
      throw usage_error("device", "NVML does not start: {}", api_.error_string(status));
    }
  }
  ~Session() { api_.shutdown(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Api& api_;
};

DeviceHandle find_device(const Api& api, const std::string& pci_bus_id) {
  DeviceHandle device = nullptr;
  if (const Return status = api.device_by_pci_bus_id(pci_bus_id.c_str(), &device); status != success) {
    throw usage_error("device", "NVML finds no GPU at PCI bus id {}: {}", pci_bus_id, api.error_string(status));
  }
  return device;
}

/// The Xids of one device since this object was made.
class XidEvents {
 public:
  XidEvents(const Api& api, DeviceHandle device) : api_(api) {
    const bool whole = api_.event_set_create != nullptr && api_.event_set_free != nullptr &&
                       api_.register_events != nullptr && api_.event_set_wait != nullptr;
    if (!whole || api_.event_set_create(&set_) != success) return;
    watching_ = api_.register_events(device, event_xid, set_) == success;
  }
  ~XidEvents() {
    if (set_ != nullptr) api_.event_set_free(set_);
  }
  XidEvents(const XidEvents&) = delete;
  XidEvents& operator=(const XidEvents&) = delete;

  bool watching() const { return watching_; }

  /// The Xids that have come since the last call. `status`: the answer to the question for one more, which there was
  /// not.
  std::vector<std::uint64_t> take(Return& status) {
    std::vector<std::uint64_t> xids;
    EventData event{};
    while (xids.size() < most && (status = api_.event_set_wait(set_, &event, 0)) == success) {
      if (event.type == event_xid) xids.push_back(event.data);
    }
    return xids;
  }

 private:
  static constexpr std::size_t most = 100;  ///< a reading ends, also where a GPU reports without end

  const Api& api_;
  EventSet set_ = nullptr;
  bool watching_ = false;
};

/// Asks for one reading after the other, and keeps why the GPU cannot be used where an answer says so.
class Questions {
 public:
  Questions(const Api& api, DeviceHandle device) : api_(api), device_(device) {}

  template <typename Value, typename... Parameters, typename... Arguments>
  std::optional<Value> ask(Return (*function)(DeviceHandle, Parameters...), Arguments... arguments) {
    Value value{};
    if (function == nullptr || !answered(function(device_, arguments..., &value))) return std::nullopt;
    return value;
  }

  std::optional<RemappedRows> rows() {
    unsigned corrected = 0, uncorrected = 0, pending = 0, failure = 0;
    if (api_.remapped_rows == nullptr ||
        !answered(api_.remapped_rows(device_, &corrected, &uncorrected, &pending, &failure))) {
      return std::nullopt;
    }
    return RemappedRows{corrected, uncorrected, pending != 0, failure != 0};
  }

  bool answered(Return status) {
    if (status == gpu_is_lost || status == reset_required) unusable_ = api_.error_string(status);
    return status == success;
  }
  const std::string& unusable() const { return unusable_; }

 private:
  const Api& api_;
  DeviceHandle device_;
  std::string unusable_;
};

}  // namespace
}  // namespace octet::nvml

namespace octet {

struct NvmlDevice::Opened {
  Opened(const std::string& pci_bus_id, const std::string& library)
      : api(library), session(api), device(nvml::find_device(api, pci_bus_id)), events(api, device) {}

  nvml::Api api;
  nvml::Session session;
  nvml::DeviceHandle device;
  nvml::XidEvents events;
};

NvmlDevice::NvmlDevice(const std::string& pci_bus_id, const std::string& library)
    : opened_(std::make_unique<Opened>(pci_bus_id, library)) {}
NvmlDevice::~NvmlDevice() = default;

DeviceReadings NvmlDevice::read() {
  using namespace nvml;
  const Api& api = opened_->api;
  Questions nvml(api, opened_->device);
  DeviceReadings now;
  now.sm_mhz = nvml.ask<unsigned>(api.clock_info, clock_sm);
  now.memory_mhz = nvml.ask<unsigned>(api.clock_info, clock_memory);
  now.clock_reasons = nvml.ask<unsigned long long>(api.clock_reasons);
  now.celsius = nvml.ask<unsigned>(api.temperature, sensor_gpu);
  if (const auto milliwatts = nvml.ask<unsigned>(api.power_usage)) now.watts = *milliwatts / 1e3;
  now.ecc_corrected = nvml.ask<unsigned long long>(api.ecc_errors, error_corrected, counter_volatile);
  now.ecc_uncorrected = nvml.ask<unsigned long long>(api.ecc_errors, error_uncorrected, counter_volatile);
  now.rows = nvml.rows();
  if (opened_->events.watching()) {
    Return status = success;
    now.xids = opened_->events.take(status);
    nvml.answered(status);
  }
  now.unusable = nvml.unusable();
  return now;
}

}  // namespace octet

namespace octet::clock_reasons {

std::string names(std::uint64_t bits) {
  constexpr std::pair<std::uint64_t, std::string_view> table[] = {{idle, "idle"},
                                                                  {setting, "clock setting"},
                                                                  {power_cap, "power cap"},
                                                                  {hardware_slowdown, "hardware slowdown"},
                                                                  {sync_boost, "sync boost"},
                                                                  {software_thermal, "software thermal slowdown"},
                                                                  {hardware_thermal, "hardware thermal slowdown"},
                                                                  {power_brake, "hardware power brake"},
                                                                  {display_setting, "display clock setting"}};
  std::vector<std::string> found;
  for (const auto& [bit, name] : table) {
    if ((bits & bit) != 0) found.emplace_back(name);
    bits &= ~bit;
  }
  if (bits != 0) found.push_back(fmt::format("reason {:#x}", bits));
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace octet::clock_reasons
