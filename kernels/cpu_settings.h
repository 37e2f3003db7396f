#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet::cpu {

/// The setting `cpu.gemm`: what bf16 and fp8 operands are widened to before the CPU multiplies them; automatic: by the
/// processor's kind (kernels/cpu/gemm/gemm_input.h).
enum class GemmInputChoice : std::uint8_t { automatic, f32, bf16 };
constexpr auto names_of(GemmInputChoice) {
  return std::to_array<std::string_view>({"auto", "f32", "bf16"});
}

/// To be called at start, before any thread multiplies. Throws a usage error for bf16 on a processor without AVX-512
/// bf16, for which oneDNN 2.6 has no bf16 multiplication.
void set_gemm_input(GemmInputChoice setting);
/// Before memory is planned, for which nothing is multiplied: puts the setting in force whatever this processor has.
/// Returns whether it has what that needs.
bool plan_with_gemm_input(GemmInputChoice setting);
/// What is in force, one line for the log, such as "f32 (auto: AMD without AVX512_BF16)".
std::string describe_gemm_input();

}  // namespace octet::cpu
