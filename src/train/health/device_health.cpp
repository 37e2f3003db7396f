#include "src/train/health/device_health.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"

namespace octet {

DeviceHealth::DeviceHealth(double seconds, const std::string& pci_bus_id, const std::string& library)
    : pci_bus_id_(pci_bus_id), asked_(seconds > 0 && !pci_bus_id.empty()), interval_(seconds) {
  if (!asked_) return;
  const OperationScope scope("opening NVML");
  try {
    device_ = std::make_unique<NvmlDevice>(pci_bus_id, library);
  } catch (const Error& e) {
    why_not_ = e.what();
    return;
  }
  const DeviceReadings first = device_->read();
  log::info("GPU {}: {}; read every {} s", pci_bus_id_, describe(first), seconds);
  for (const HealthNote& n : changes_.of(first)) tell(n.warning, n.text);
  thread_ = std::thread([this] { watch(); });
}

DeviceHealth::~DeviceHealth() {
  if (!thread_.joinable()) return;
  const OperationScope scope("the last reading of NVML");
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void DeviceHealth::look_now(double patience_seconds) {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  const std::int64_t mine = ++wanted_;
  wake_.notify_one();
  looked_.wait_for(lock, std::chrono::duration<double>(patience_seconds), [&] { return done_ >= mine; });
}

void DeviceHealth::watch() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    wake_.wait_for(lock, interval_, [this] { return stop_ || wanted_ != done_; });
    last = stop_;
    const std::int64_t wanted = wanted_;
    lock.unlock();
    look();
    lock.lock();
    done_ = wanted;
    looked_.notify_all();
  }
}

void DeviceHealth::look() {
  for (const HealthNote& n : changes_.of(device_->read())) tell(n.warning, n.text);
}

void DeviceHealth::tell(bool warning, const std::string& text) const {
  log::write_of_rank(warning ? log::Level::warning : log::Level::info, fmt::format("GPU {}: {}", pci_bus_id_, text));
}

void report_unwatched(const DeviceHealth& health, Communicator& control, const std::string& node) {
  if (!health.asked()) return;
  const std::string mine = health.why_not().empty() ? "" : fmt::format("on {}: {}", node, health.why_not());
  const std::vector<std::string> reasons = gather_bytes(mine, control);
  const auto unwatched = std::ranges::count_if(reasons, [](const std::string& r) { return !r.empty(); });
  if (unwatched == 0 || control.rank() != 0) return;
  const auto first = std::ranges::find_if(reasons, [](const std::string& r) { return !r.empty(); });
  log::warning("clocks, ECC and Xid of {} of {} GPU(s) are not watched; rank {} {}", unwatched, reasons.size(),
               first - reasons.begin(), *first);
}

}  // namespace octet
