#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <vector>

#include "kernels/gemm.h"
#include "src/base/handle.h"
#include "src/device/device.h"

namespace octet::cuda {

/// Blocks of values that stand for what a run multiplies: normally distributed, and for fp8 scaled so that they use the
/// format's range as a tensor's scale makes them. Made once for each dtype, and doubled on the device, so that neither
/// the host nor the bus has much to do. Zeros would draw less power than a run does, and let the GPU clock higher.
class TrialValues {
 public:
  explicit TrialValues(Stream& stream) : stream_(stream) {}

  /// Fills device memory; ordered on the stream.
  void fill(void* to, std::int64_t bytes, DType dtype);
  /// The same with inverse scales.
  void fill_scales(float* to, std::int64_t count);

 private:
  void repeat(void* to, std::int64_t bytes, const std::vector<std::byte>& block);

  Stream& stream_;
  std::map<DType, std::vector<std::byte>> blocks_;
  std::vector<std::byte> scales_;
};

/// Goes back to the driver when it is freed, where the device's pool would keep it from NCCL for the whole run. It is
/// in no ledger either: the run's peak is what its own buffers take.
using TrialMemory = Handle<ClosedBy<void*, cudaFree>>;

/// Memory for a product of the library that is like another one: the same but for the pointers, which have the same
/// alignments.
class TrialOperands {
 public:
  TrialOperands(Stream& stream, const Gemm& like, TrialValues& values);
  const Gemm& args() const { return args_; }

 private:
  /// `bytes` that begin on a multiple of `alignment` and of no higher power of two below 256.
  void* take(std::int64_t bytes, int alignment);
  void fill_operand(GemmOperand& operand, std::int64_t kept, int alignment, TrialValues& values);

  Gemm args_;
  std::vector<TrialMemory> memory_;
};

}  // namespace octet::cuda
