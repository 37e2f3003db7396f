#include "kernels/cpu/gemm/gemm_input.h"

#include <cstring>

#include "src/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace octet::cpu {
namespace {

struct Choice {
  GemmInput input;
  bool automatic;
};

Choice& current() {
  static Choice choice{choose_gemm_input(read_cpu_features()), true};
  return choice;
}

GemmInput meaning_of(GemmInputChoice setting, const CpuFeatures& cpu) {
  if (setting == GemmInputChoice::automatic) return choose_gemm_input(cpu);
  return setting == GemmInputChoice::f32 ? GemmInput::f32 : GemmInput::bf16;
}

#if defined(__x86_64__)
/// XCR0: which registers the operating system saves.
std::uint64_t saved_registers() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<std::uint64_t>(high) << 32 | low;
}
#endif

}  // namespace

CpuFeatures read_cpu_features() {
  CpuFeatures cpu;
#if defined(__x86_64__)
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  char vendor[12];
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return cpu;
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  const std::string_view name(vendor, sizeof vendor);
  if (name == "AuthenticAMD") cpu.vendor = CpuVendor::amd;
  if (name == "GenuineIntel") cpu.vendor = CpuVendor::intel;

  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 27 & 1u) == 0) return cpu;  // OSXSAVE, without which no xgetbv
  constexpr std::uint64_t avx512_state = 0xE6, tile_state = 0x60000;
  const std::uint64_t saved = saved_registers();
  if ((saved & avx512_state) != avx512_state) return cpu;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) cpu.avx512_bf16 = (a >> 5 & 1u) != 0;
  if ((saved & tile_state) != tile_state) return cpu;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) cpu.amx_bf16 = (d >> 22 & 1u) != 0 && (d >> 24 & 1u) != 0;
#endif
  return cpu;
}

GemmInput choose_gemm_input(const CpuFeatures& cpu) {
  const bool fast = cpu.amx_bf16 || (cpu.vendor == CpuVendor::amd && cpu.avx512_bf16);
  return fast ? GemmInput::bf16 : GemmInput::f32;
}

bool can_multiply(GemmInputChoice setting, const CpuFeatures& cpu) {
  return setting != GemmInputChoice::bf16 || cpu.avx512_bf16 || cpu.amx_bf16;
}

GemmInput resolve_gemm_input(GemmInputChoice setting, const CpuFeatures& cpu) {
  if (can_multiply(setting, cpu)) return meaning_of(setting, cpu);
  throw usage_error("kernels",
                    "cpu.gemm: bf16 needs a processor with AVX-512 bf16, which this one has not; expected auto or f32");
}

void set_gemm_input(GemmInputChoice setting) {
  current() = {resolve_gemm_input(setting, read_cpu_features()), setting == GemmInputChoice::automatic};
}

bool plan_with_gemm_input(GemmInputChoice setting) {
  const CpuFeatures cpu = read_cpu_features();
  current() = {meaning_of(setting, cpu), setting == GemmInputChoice::automatic};
  return can_multiply(setting, cpu);
}

GemmInput gemm_input() {
  return current().input;
}

std::string describe_gemm_input() {
  if (!current().automatic) return fmt::format("{} (set by cpu.gemm)", name_of(gemm_input()));
  const CpuFeatures cpu = read_cpu_features();
  const std::string_view vendor = cpu.vendor == CpuVendor::amd     ? "AMD"
                                  : cpu.vendor == CpuVendor::intel ? "Intel"
                                                                   : "processor";
  const std::string_view feature = cpu.amx_bf16      ? "with AMX"
                                   : cpu.avx512_bf16 ? "with AVX512_BF16, without AMX"
                                                     : "without AVX512_BF16";
  return fmt::format("{} (auto: {} {})", name_of(gemm_input()), vendor, feature);
}

}  // namespace octet::cpu
