#pragma once

#include <vector>

#include "tests/benchmark/gpu/cases.h"

namespace octet::bench {

/// A GEMM of the kernel table by cuBLASLt's first proposal and by the fastest of those that a run times: cuda.gemm
/// heuristic and timed. Of the CPU the one way that it has.
std::vector<Way> chosen_ways(const Place& place, const Gemm& args);

/// Those, and ways that differ from the first of them in one thing each: what may be why PyTorch's are faster.
std::vector<Way> compared_ways(Case& c, const Gemm& args);

}  // namespace octet::bench
