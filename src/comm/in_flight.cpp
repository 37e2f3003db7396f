#include "src/comm/in_flight.h"

#include <mutex>
#include <vector>

namespace octet {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const InFlight*> all;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

InFlightScope::InFlightScope(const InFlight& in_flight) : in_flight_(in_flight) {
  const std::lock_guard lock(registry().mutex);
  registry().all.push_back(&in_flight);
}

InFlightScope::~InFlightScope() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().all, &in_flight_);
}

std::string operations_in_flight() {
  const std::lock_guard lock(registry().mutex);
  std::string text;
  for (const InFlight* f : registry().all) {
    const std::string oldest = f->oldest();
    if (oldest.empty()) continue;
    text += (text.empty() ? "" : "; ") + oldest;
  }
  return text;
}

std::string error_in_flight() {
  const std::lock_guard lock(registry().mutex);
  for (const InFlight* f : registry().all) {
    if (std::string error = f->error(); !error.empty()) return error;
  }
  return {};
}

}  // namespace octet
