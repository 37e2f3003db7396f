#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

// Names and order of NCCL's enumerations ncclFunc_t, NCCL_ALGO_* and NCCL_PROTO_* (2.24 to 2.30), which index its
// tables.

enum class Collective : std::uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };
enum class Algorithm : std::uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class Protocol : std::uint8_t { ll, ll128, simple };

// The names as files and options have them.
constexpr auto names_of(Collective) {
  return std::to_array<std::string_view>({"broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce"});
}
constexpr auto names_of(Algorithm) {
  return std::to_array<std::string_view>(
      {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"});
}
constexpr auto names_of(Protocol) {
  return std::to_array<std::string_view>({"ll", "ll128", "simple"});
}

inline constexpr int algorithm_count = 7;
inline constexpr int protocol_count = 3;

/// Values by algorithm and protocol: microseconds, GB/s.
using AlgorithmTable = std::array<std::array<double, protocol_count>, algorithm_count>;

/// How a communicator of one rank a GPU lies on the machine.
struct CommShape {
  int nodes = 1;
  int ranks_per_node = 8;

  int ranks() const { return nodes * ranks_per_node; }
  bool operator==(const CommShape&) const = default;
};

/// Says whether two names are the same; case, `_` and `-` do not count: `AllReduce`, `NVLSTree`.
bool same_name(std::string_view a, std::string_view b);
/// Throw a usage error that lists the known names, which same_name() finds.
Collective parse_collective(std::string_view text);
Algorithm parse_algorithm(std::string_view text);
Protocol parse_protocol(std::string_view text);

/// Says whether NCCL has a kernel for it at all, on any machine: "broadcast by tree" it has not.
bool nccl_has(Collective collective, Algorithm algorithm, Protocol protocol);

/// Bus bandwidth over algorithm bandwidth, as nccl-tests define it: 2(n-1)/n for all_reduce, (n-1)/n for all_gather and
/// reduce_scatter, 1 for broadcast and reduce. Bytes are the largest buffer of a rank: the whole vector of all_reduce,
/// what all_gather leaves behind, what reduce_scatter starts from.
double bus_factor(Collective collective, int ranks);

}  // namespace octet
