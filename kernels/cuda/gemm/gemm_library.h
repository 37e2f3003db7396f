#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/gemm/gemm_plans.h"
#include "src/device/device.h"

namespace octet::cuda {

/// The library with its handle, once a process (which uses one device), and the plans under the present settings.
class GemmLibrary {
 public:
  /// Loads the library at the first call, which a CUDA graph cannot capture: that is refused.
  static GemmLibrary& of(Stream& stream);

  /// The GEMM of KernelTable, of arguments that check_gemm has passed and that have something to multiply.
  void multiply(Stream& stream, const Gemm& args);

  // As kernels/gemm_timing.h says.
  AlgorithmPlatform platform() const { return {.library_version = functions_.version(), .device = device_}; }
  std::vector<Gemm> products(const Gemm& args);
  AlgorithmChoices time(Stream& stream, std::span<const Gemm> products);

 private:
  explicit GemmLibrary(Stream& stream);

  bool scales_apart(const Gemm& args);
  /// With mutex_ held.
  GemmPlans& plans();
  GemmPlan plan_of(const Gemm& args);

  CublasLt functions_;
  std::string device_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::optional<GemmPlans> plans_;
  int version_ = 0;
};

/// Times plans of `args` on its stream, which it waits for. C is written again and again.
std::vector<double> time_plans(const CublasLt& library, cublasLtHandle_t handle, Stream& stream, const Gemm& args,
                               std::span<const GemmPlan> plans);

}  // namespace octet::cuda
