#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/cpu_settings.h"
#include "src/base/named_enum.h"

namespace octet::cpu {

/// What bf16 and fp8 operands are widened to before the CPU multiplies them (f32 operands stay f32). Both are exact
/// for fp8; products and sums are fp32 either way, so that GEMMs differ by summation order alone. Attention in bf16
/// rounds its probabilities for products in bf16 (attention_onednn.h).
enum class GemmInput : std::uint8_t { f32, bf16 };
constexpr auto names_of(GemmInput) {
  return std::to_array<std::string_view>({"f32", "bf16"});
}

enum class CpuVendor : std::uint8_t { amd, intel, other };

struct CpuFeatures {
  CpuVendor vendor = CpuVendor::other;
  bool avx512_bf16 = false;  ///< with the operating system's support for AVX-512 registers
  bool amx_bf16 = false;     ///< likewise for tile registers
};

/// The features of the processor that we run on, by cpuid. On other architectures no feature is set.
CpuFeatures read_cpu_features();

/// bf16 where its products are faster than f32's: AMX, or AMD with AVX512_BF16 (Intel's AVX512_BF16 without AMX runs at
/// half the rate of f32). Never from a timing, so that one machine always gives the same bits.
GemmInput choose_gemm_input(const CpuFeatures& cpu);

/// Says whether a processor has what the setting needs.
bool can_multiply(GemmInputChoice setting, const CpuFeatures& cpu);
/// What the setting means on a given processor. It is only worked out here; set_gemm_input puts it in force.
GemmInput resolve_gemm_input(GemmInputChoice setting, const CpuFeatures& cpu);

/// The choice in force (automatic if none was set).
GemmInput gemm_input();

}  // namespace octet::cpu
