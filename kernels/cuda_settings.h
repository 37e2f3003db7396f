#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// How a GEMM's algorithm is chosen when a shape is first met: cuBLASLt's first proposal, or the fastest of its
/// proposals, measured once (a warm-up step should meet every shape before timings count).
enum class CudaGemmChoice : std::uint8_t { heuristic, timed };
constexpr auto names_of(CudaGemmChoice) {
  return std::to_array<std::string_view>({"heuristic", "timed"});
}

/// How the CUDA kernels choose among equals. The defaults are what a build without CUDA has as well.
struct CudaSettings {
  /// Makes the bits the same from run to run on the same kind of GPU with the same libraries: no order of summation is
  /// left to chance, at the price of speed and, in attention, of memory.
  bool deterministic = false;
  CudaGemmChoice gemm = CudaGemmChoice::heuristic;
  /// A text file of choices; none when empty. Choices in it are used again, with "timed" new ones are added to it, so
  /// that a run with "heuristic" replays them. It is refused when the GPU or the version of cuBLASLt is another. Where
  /// several processes time into one file the last to write wins, so each of them replays the same in the next run.
  std::string gemm_plans{};

  bool operator==(const CudaSettings&) const = default;
};

/// To be called at start, before any kernel. Usage errors: "timed" with `deterministic` (two runs would choose
/// differently); "heuristic" with a file that does not exist; a file that cannot be read; in a build without CUDA
/// anything but the defaults.
void set_cuda_settings(const CudaSettings&);

}  // namespace octet
