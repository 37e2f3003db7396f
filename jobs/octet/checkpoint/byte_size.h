#pragma once

#include <cstdint>
#include <string>

namespace octet::tool {

/// "5GB", "500 MB", "2GiB", "4096": a whole number above 0 and a unit of powers of 1000 or 1024. `option` is for the
/// usage error.
std::int64_t parse_bytes(const std::string& text, const std::string& option);

}  // namespace octet::tool
