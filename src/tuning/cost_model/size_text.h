#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octet {

/// "64 MiB", "22.4 MiB", "100 B".
std::string size_text(std::int64_t bytes);

/// "45us", "1.2ms", "210GB/s" (of the bus): microseconds, given what the collective's bytes take at 1 GB/s of the bus.
double parse_measured(std::string_view text, double us_at_one_gbs);

}  // namespace octet
