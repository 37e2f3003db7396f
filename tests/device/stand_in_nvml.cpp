// Takes the place of libnvidia-ml.so.1 in tests: one GPU, whose values stand in the file that OCTET_NVML_VALUES names,
// read anew at each call. A line is "KEY VALUE", "KEY !CODE" for a call that fails with this code, or "xid NUMBER";
// what has no line is not supported. Declared here from nvml.h's text, not from the project's own declarations.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

[[maybe_unused]] constexpr int success = 0, invalid_argument = 2, not_supported = 3, not_found = 6, time_out = 10;

struct EventData {
  void* device;
  unsigned long long event_type, event_data;
  unsigned int gpu_instance_id, compute_instance_id;
};

[[maybe_unused]] char gpu, events;  // what handles point at
int sessions = 0, event_sets = 0;
[[maybe_unused]] bool registered = false;
[[maybe_unused]] std::size_t xids_taken = 0;
std::atomic<int> waits = 0;

std::vector<std::string> values_of(const std::string& key) {
  const char* file = std::getenv("OCTET_NVML_VALUES");
  std::ifstream in(file == nullptr ? "" : file);
  std::vector<std::string> found;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + " ")) found.push_back(line.substr(key.size() + 1));
  }
  return found;
}

template <typename Value>
int give(const std::string& key, void* device, Value* out) {
  if (device != &gpu || out == nullptr || sessions == 0) return invalid_argument;
  const auto values = values_of(key);
  if (values.empty()) return not_supported;
  if (values[0].starts_with("!")) return std::stoi(values[0].substr(1));
  std::istringstream(values[0]) >> *out;
  return success;
}

}  // namespace

extern "C" {
int nvmlInit_v2() {
  const auto code = values_of("init");
  if (!code.empty()) return std::stoi(code[0].substr(1));
  ++sessions;
  return success;
}
int nvmlShutdown() {
  --sessions;
  return success;
}
const char* nvmlErrorString(int code) {
  switch (code) {
    case not_found:
      return "Not Found";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    case 16:
      return "GPU requires reset";
    default:
      return "Unknown Error";
  }
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  const auto there = values_of("pci");
  if (there.empty() || there[0] != id) return not_found;
  *device = &gpu;
  return success;
}
int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* mhz) {
  return give(type == 1 ? "sm_mhz" : type == 2 ? "memory_mhz" : "none", device, mhz);
}
#ifdef OLD_DRIVER
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return give("reasons", device, reasons);
}
#else
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  return give("reasons", device, reasons);
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failure) {
  const int code = give("rows", device, corrected);
  if (code == success) {
    std::istringstream(values_of("rows")[0]) >> *corrected >> *uncorrected >> *pending >> *failure;
  }
  return code;
}
int nvmlEventSetCreate(void** set) {
  *set = &events;
  ++event_sets;
  return success;
}
int nvmlEventSetFree(void*) {
  --event_sets;
  registered = false;
  return success;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  if (device != &gpu || set != &events || types != 0x8) return invalid_argument;
  if (!values_of("no_events").empty()) return not_supported;
  registered = true;
  xids_taken = values_of("xid").size();  // those that were before are not recorded
  return success;
}
int nvmlEventSetWait_v2(void* set, EventData* data, unsigned milliseconds) {
  if (set != &events || !registered || milliseconds != 0) return invalid_argument;
  const auto lost = values_of("events");
  if (!lost.empty()) return std::stoi(lost[0].substr(1));
  const auto xids = values_of("xid");
  if (xids_taken >= xids.size()) {
    ++waits;
    return time_out;
  }
  *data = {&gpu, 0x8, std::stoull(xids[xids_taken++]), 0xFFFFFFFF, 0xFFFFFFFF};
  return success;
}
#endif
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  return sensor == 0 ? give("celsius", device, celsius) : invalid_argument;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return give("milliwatts", device, milliwatts);
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned counter, unsigned long long* count) {
  if (counter != 0 || type > 1) return invalid_argument;
  return give(type == 0 ? "ecc_corrected" : "ecc_uncorrected", device, count);
}

// For tests: what is open, and how many readings asked for events to the end.
int stand_in_open() {
  return sessions + event_sets;
}
int stand_in_readings() {
  return waits;
}
}
