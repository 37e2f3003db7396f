#pragma once

#include <string>

namespace octet {

/// The time as files have it: "2026-11-22T09:54:53Z".
std::string utc_now();

}  // namespace octet
