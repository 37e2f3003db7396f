#include "src/device/device.h"

#include "src/base/error.h"

namespace octet {

double Event::seconds_since(const Event&) const {
  throw internal_error("device", "an event that keeps no time was asked for it; expected one of make_timing_event");
}

}  // namespace octet
