#pragma once

#include <string>

#include "src/run_config/run_config.h"

namespace octet {

/// Threads of this rank's OpenMP team (cpu.threads, else OMP_NUM_THREADS, else the cores this process may use divided
/// by the ranks that share them, at least 1) and the GEMM input type (cpu.gemm). Call before the first kernel.
/// Returns one line for the log: processor, threads, GEMM input type and why.
std::string set_up_cpu(const CpuConfig& config, int ranks_on_same_cores);

}  // namespace octet
