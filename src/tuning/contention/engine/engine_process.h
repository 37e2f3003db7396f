#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/tuning/contention/traffic.h"

namespace octet {

/// When step s of the last lane has arrived, in microseconds, from a forked process that loads the engine. Errors as
/// simulate() has them.
std::vector<double> run_engine(const Traffic& traffic, const std::function<void(std::int64_t)>& progress);

}  // namespace octet
