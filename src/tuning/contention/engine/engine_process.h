#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/tuning/contention/traffic.h"

namespace octet {

/// The times in microseconds at which step s of the last lane has arrived, from a forked process that loads the engine.
/// Errors are as simulate() has them.
std::vector<double> run_engine(const Traffic& traffic, const std::function<void(std::int64_t)>& progress);

}  // namespace octet
