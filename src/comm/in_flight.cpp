#include "src/comm/in_flight.h"

#include <mutex>
#include <vector>

namespace octet {
namespace {

/// Only the main thread changes the list, under the lock, and so it reads the list without the lock. It holds the lock
/// only for such a change, never during a call of a library.
struct Registry {
  std::mutex mutex;
  std::vector<InFlight*> all;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

InFlightScope::InFlightScope(InFlight& in_flight) : in_flight_(in_flight) {
  const std::lock_guard lock(registry().mutex);
  registry().all.push_back(&in_flight);
}

InFlightScope::~InFlightScope() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().all, &in_flight_);
}

void poll_in_flight() {
  for (InFlight* f : registry().all) f->poll();
}

std::string operations_in_flight() {
  const std::unique_lock lock(registry().mutex, std::try_to_lock);
  if (!lock.owns_lock()) return "unknown: groups are being made or ended";
  std::string text;
  for (const InFlight* f : registry().all) {
    const std::string oldest = f->oldest();
    if (oldest.empty()) continue;
    text += (text.empty() ? "" : "; ") + oldest;
  }
  return text;
}

}  // namespace octet
