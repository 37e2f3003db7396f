#include "src/device/nvml_api.h"

#include <initializer_list>

#include "src/base/error.h"

namespace octet::nvml {
namespace {

LibraryHandle open(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw usage_error("device", "{} cannot be loaded: {}", file, dlerror());
  return LibraryHandle(library);
}

/// The first of the names that the library has; newer ones stand first.
template <typename Function>
void find(void* library, std::initializer_list<const char*> names, Function*& function) {
  for (const char* name : names) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function != nullptr) return;
  }
}

template <typename Function>
void need(void* library, const std::string& file, const char* name, Function*& function) {
  find(library, {name}, function);
  if (function == nullptr) throw usage_error("device", "{} has no {}: too old for this program", file, name);
}

}  // namespace

Api::Api(const std::string& file) : library(open(file)) {
  void* const from = library.get();
  need(from, file, "nvmlInit_v2", init);
  need(from, file, "nvmlShutdown", shutdown);
  need(from, file, "nvmlErrorString", error_string);
  need(from, file, "nvmlDeviceGetHandleByPciBusId_v2", device_by_pci_bus_id);

  find(from, {"nvmlDeviceGetClockInfo"}, clock_info);
  find(from, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}, clock_reasons);
  find(from, {"nvmlDeviceGetTemperature"}, temperature);
  find(from, {"nvmlDeviceGetPowerUsage"}, power_usage);
  find(from, {"nvmlDeviceGetTotalEccErrors"}, ecc_errors);
  find(from, {"nvmlDeviceGetRemappedRows"}, remapped_rows);
  find(from, {"nvmlEventSetCreate"}, event_set_create);
  find(from, {"nvmlEventSetFree"}, event_set_free);
  find(from, {"nvmlDeviceRegisterEvents"}, register_events);
  find(from, {"nvmlEventSetWait_v2", "nvmlEventSetWait"}, event_set_wait);
}

}  // namespace octet::nvml
