#pragma once

#include <functional>
#include <vector>

#include "src/tuning/contention/traffic.h"

namespace octet {

/// A simulation for the engine: `finish_us`, which it fills, is when step s of the last lane has arrived, and progress
/// is called with bytes that have arrived.
struct EngineRun {
  const Traffic& traffic;
  std::vector<double>& finish_us;
  const std::function<void(double)>& progress;
};

/// The one function of liboctet-flows.so (engine.cpp): simulates once in the life of a process.
using RunEngine = void(EngineRun& run);
inline constexpr const char* engine_function = "octet_run_flows";
inline constexpr const char* engine_library = "liboctet-flows.so";

}  // namespace octet
