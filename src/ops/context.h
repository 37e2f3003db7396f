#pragma once

#include <cstdint>
#include <utility>

#include "kernels/table.h"
#include "src/device/arena.h"
#include "src/ops/exchange.h"
#include "src/ops/gemm_trace.h"

namespace octet {

/// What every op needs: where it runs, which kernels, memory for the length of one op, and its exchanges.
struct OpContext {
  Stream& stream;
  const KernelTable& kernels;
  Arena& scratch;                         ///< ops rewind what they take
  Exchange& exchange;                     ///< of the tensor-parallel group
  GemmTrace* gemms = nullptr;             ///< null: not traced
  std::int64_t gemm_multiprocessors = 0;  ///< Gemm::multiprocessors of its linears
};

/// GEMMs of linears are chosen for so many multiprocessors until the scope ends.
class GemmMultiprocessors {
 public:
  GemmMultiprocessors(OpContext& op, std::int64_t multiprocessors)
      : op_(op), before_(std::exchange(op.gemm_multiprocessors, multiprocessors)) {}
  ~GemmMultiprocessors() { op_.gemm_multiprocessors = before_; }
  GemmMultiprocessors(const GemmMultiprocessors&) = delete;
  GemmMultiprocessors& operator=(const GemmMultiprocessors&) = delete;

 private:
  OpContext& op_;
  std::int64_t before_;
};

}  // namespace octet
