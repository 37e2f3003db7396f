#pragma once

#include <array>

#include "src/tuning/collective.h"
#include "src/tuning/cost_model/nccl_release.h"

namespace octet {

enum class GpuGeneration : int { volta, ampere, hopper, blackwell };
enum class LinkKind : int { nvlink, pci, net };

inline constexpr int generation_count = 4;
inline constexpr int link_count = 3;

/// GB/s by GPU generation and by nodes: one, two, more.
using GenerationTable = std::array<std::array<double, 3>, generation_count>;

/// The constants of NCCL's cost model, in the order of its ncclTunerConstants_v5_t (2.28 and later; 2.27 has the same
/// ones inside). Microseconds and GB/s.
struct ModelConstants {
  AlgorithmTable base_latency{};
  std::array<AlgorithmTable, link_count> hw_latency{};  ///< by LinkKind
  /// The first index is the generation on one node; between nodes it is 1 where the CPU is AMD's and 0 elsewhere.
  GenerationTable ll_max{};
  GenerationTable ring_ll128_max{};  ///< of a channel, as those below
  GenerationTable tree_ll128_max{};
  GenerationTable tree_max{};
  GenerationTable nvls_tree_max{};  ///< 2.27 has none: infinite

  bool operator==(const ModelConstants&) const = default;
};

/// What this version is built with (NVIDIA/nccl, src/graph/tuning.cc at v2.27.3-1 to v2.27.7-1, v2.28.3-1 to v2.28.9-1,
/// v2.29.2-1 to v2.29.7-1, v2.30.3-1 to v2.30.7-1).
ModelConstants default_constants(const NcclVersion& version);

}  // namespace octet
