#pragma once

#include <string>

#include "src/train/options/run_config.h"

namespace octet {

/// Threads of this rank's OpenMP team (cpu.threads, else OMP_NUM_THREADS, else the cores this process may use divided
/// by the ranks that share them, at least 1) and the GEMM input type (cpu.gemm). Call before the first kernel.
/// Returns one line for the log: processor, threads, GEMM input type and why.
std::string set_up_cpu(const CpuConfig& config, int ranks_on_same_cores);

/// Before the memory of a run is planned with the CPU's kernels, on a machine that need not be the run's: they take the
/// workspaces that cpu.gemm has in the run, where auto is what it is here; and of a run on GPUs, in which they stand in
/// for the GPU's, those that are the same on every processor. Returns what this processor lacks for such a run, empty
/// for nothing.
std::string set_up_cpu_to_plan(const RunConfig& config);

}  // namespace octet
