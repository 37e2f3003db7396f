#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// Seconds of a time limit in one of sbatch's forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
/// days-hours:minutes, days-hours:minutes:seconds. Usage error that names `origin` for any other text and for zero.
std::int64_t parse_slurm_time(std::string_view text, std::string_view origin);

}  // namespace octet
