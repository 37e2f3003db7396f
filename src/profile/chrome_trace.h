#pragma once

#include <string>

#include "src/profile/timeline.h"

namespace octet {

/// A rank's recording in Chrome's trace event format ("Trace Event Format", catapult), which Perfetto and
/// chrome://tracing open; docs/timeline.md says what is in it. The process is the rank, the threads are the streams.
std::string chrome_trace(const Recording& recording, int rank, const std::string& node);

}  // namespace octet
