#pragma once

#include <algorithm>

#include "src/device/work.h"
#include "src/metrics/peak.h"

namespace octet {

/// What a device can do at most.
struct KernelRates {
  double fp8 = 0, bf16 = 0, fp32 = 0;  ///< FLOP/s of products, by their operands
  double memory = 0;                   ///< bytes a second that kernels read and write
};

/// The rates of a GPU's data sheet.
inline KernelRates kernel_rates(const GpuSheet& sheet) {
  return {.fp8 = sheet.peak.fp8, .bf16 = sheet.peak.bf16, .fp32 = sheet.fp32, .memory = sheet.memory_bandwidth};
}

/// Seconds of a kernel at these rates: the longer of its products (of attention half of its whole score matrix) and its
/// bytes.
inline double kernel_seconds(const Work& work, const KernelRates& rates) {
  const double rate = is_float8(work.multiplied) ? rates.fp8 : work.multiplied == DType::bf16 ? rates.bf16 : rates.fp32;
  const double products = work.name.starts_with("attention") ? work.flops / 2 : work.flops;
  return std::max(products / rate, static_cast<double>(work.bytes) / rates.memory);
}

}  // namespace octet
