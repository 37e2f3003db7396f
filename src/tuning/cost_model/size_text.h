#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octet {

/// "64M", "512K", "1G", "2GiB", "4096": a whole number and a power of 1024, as nccl-tests takes sizes. Usage error for
/// anything else; `option` names it there.
std::int64_t parse_size(std::string_view text, std::string_view option);
/// "64 MiB", "22.4 MiB", "100 B".
std::string size_text(std::int64_t bytes);

/// "45us", "1.2ms", "210GB/s" (of the bus): microseconds, given what the collective's bytes take at 1 GB/s of the bus.
double parse_measured(std::string_view text, double us_at_one_gbs);

}  // namespace octet
