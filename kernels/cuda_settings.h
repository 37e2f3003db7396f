#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// How the algorithm of a GEMM or of attention is chosen: the library's first proposal; the fastest of its proposals,
/// timed before the first step; or timed where that costs less than 1 % of the FLOPs that the run still has to do, and
/// the first proposal where it costs more or the run is to be deterministic.
enum class AlgorithmSearch : std::uint8_t { automatic, heuristic, timed };
constexpr auto names_of(AlgorithmSearch) {
  return std::to_array<std::string_view>({"auto", "heuristic", "timed"});
}

/// What computes attention of rows that hold several documents: cuDNN where it can, else Octet's own kernels; or those
/// alone.
enum class DocumentAttention : std::uint8_t { cudnn, own };
constexpr auto names_of(DocumentAttention) {
  return std::to_array<std::string_view>({"cudnn", "own"});
}

/// How the CUDA kernels choose among equals. The defaults are what a build without CUDA has as well.
struct CudaSettings {
  /// Makes the bits the same from run to run on the same kind of GPU with the same libraries: no order of summation is
  /// left to chance, at the price of speed and, in attention, of memory.
  bool deterministic = false;
  AlgorithmSearch gemm = AlgorithmSearch::automatic;
  /// A file of choices (kernels/algorithm_choices.h) in place of the run's own. Choices in it are used again; where
  /// GEMMs are timed, new ones are added, so that a run with "heuristic" replays them. Empty: the run's own file.
  std::string gemm_plans{};

  /// How plans of cuDNN's attention are chosen. Its choices have no file but the run's own: a run that is deterministic
  /// replays none.
  AlgorithmSearch attention = AlgorithmSearch::automatic;
  DocumentAttention document_attention = DocumentAttention::cudnn;

  /// Says whether GEMMs may be timed.
  bool may_time_gemms() const { return may_time(gemm); }
  bool may_time_attention() const { return may_time(attention); }

  bool operator==(const CudaSettings&) const = default;

 private:
  bool may_time(AlgorithmSearch search) const {
    return search == AlgorithmSearch::timed || (search == AlgorithmSearch::automatic && !deterministic);
  }
};

/// To be called at start, before any kernel. What goes together the caller has checked (src/run_config). Usage error
/// in a build without CUDA: anything but the defaults.
void set_cuda_settings(const CudaSettings&);

}  // namespace octet
