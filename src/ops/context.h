#pragma once

#include "kernels/table.h"
#include "src/device/arena.h"
#include "src/ops/exchange.h"
#include "src/ops/gemm_trace.h"

namespace octet {

/// What every op needs: where it runs, which kernels, memory for the length of one op, and its exchanges.
struct OpContext {
  Stream& stream;
  const KernelTable& kernels;
  Arena& scratch;                ///< ops rewind what they take
  Exchange& exchange;            ///< of the tensor-parallel group
  GemmTrace* gemms = nullptr;    ///< null: not traced
  Exchange& cp = no_exchange();  ///< of the context-parallel group, between whose ranks sequences are cut
};

}  // namespace octet
