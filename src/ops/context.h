#pragma once

#include "kernels/table.h"
#include "src/device/arena.h"
#include "src/ops/exchange.h"
#include "src/ops/gemm_trace.h"

namespace octet {

/// What every op needs: where it runs, which kernels, memory for the length of one op, and its exchange.
struct OpContext {
  Stream& stream;
  const KernelTable& kernels;
  Arena& scratch;  ///< ops rewind what they take
  Exchange& exchange;
  GemmTrace* gemms = nullptr;        ///< null: not traced
  bool power_of_two_scales = false;  ///< of fp8 casts
};

/// The table with every launch a no-op and every workspace size real. A pass with it and measuring arenas plans memory
/// with the code that will use it.
KernelTable dry_run(const KernelTable& kernels);

}  // namespace octet
