#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"
#include "src/tuning/collective.h"

namespace octet {

// A cluster's tuning file: what measurements say of its collectives. `octet tune fit` writes it, `octet tune explain`
// reads it, and the tuner plugin (plugin/tuner_abi.h) applies its constants and choices inside NCCL. JSON;
// docs/tuning/plugin.md shows one.

enum class TunedLink : std::uint8_t { nvlink, pci, net };                              ///< NCCL_HW_*, in its order
enum class TunedGeneration : std::uint8_t { volta, ampere, hopper, blackwell };        ///< NCCL_*_COMPCAP_IDX
enum class TunedLimit : std::uint8_t { ll, ring_ll128, tree_ll128, tree, nvls_tree };  ///< of bandwidth, see below

constexpr auto names_of(TunedLink) {
  return std::to_array<std::string_view>({"nvlink", "pci", "net"});
}
constexpr auto names_of(TunedGeneration) {
  return std::to_array<std::string_view>({"volta", "ampere", "hopper", "blackwell"});
}
constexpr auto names_of(TunedLimit) {
  return std::to_array<std::string_view>({"ll", "ring_ll128", "tree_ll128", "tree", "nvls_tree"});
}

struct TunedBaseLatency {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double us = 0;
};

struct TunedHwLatency {
  TunedLink link = TunedLink::net;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double us = 0;
};

/// A row of llMaxBws, perChMaxRingLL128Bws, perChMaxTreeLL128Bws, perChMaxTreeBws or perChMaxNVLSTreeBws.
struct TunedBandwidth {
  TunedLimit limit = TunedLimit::tree;
  TunedGeneration generation = TunedGeneration::hopper;
  int nodes = 1;  ///< 1, 2, or 3 for three and more
  double gbs = 0;
};

/// The constants of NCCL's cost model that measurements correct; what is not here stays as NCCL has it.
struct TunedConstants {
  // What a measured constant can be: a nanosecond to a second, 10 MB/s to 10 TB/s.
  static constexpr double least_us = 1e-3, most_us = 1e6;
  static constexpr double least_gbs = 1e-2, most_gbs = 1e4;

  std::vector<TunedBaseLatency> base_latency;
  std::vector<TunedHwLatency> hw_latency;
  std::vector<TunedBandwidth> bandwidth;

  bool empty() const { return base_latency.empty() && hw_latency.empty() && bandwidth.empty(); }
  std::size_t size() const { return base_latency.size() + hw_latency.size() + bandwidth.size(); }
};

/// time = alpha_us + bytes / (1000 · beta_gbs) microseconds; bytes as in bus_factor(). fit/predict.h predicts from it.
struct TunedFit {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  CommShape shape;
  double alpha_us = 0;
  double beta_gbs = 0;  ///< algorithm bandwidth
  std::int64_t rows = 0;
  double residual = 0;  ///< standard deviation of log(measured / fitted): noise, and what no line follows
  /// 1 - half the width, relative, of the 95 % interval of a time in the middle of the sizes measured; 0 to 1.
  double confidence = 0;
  double alpha_error_us = 0, beta_error_gbs = 0;  ///< standard errors; 0: as large a part of the value as `residual`
  std::int64_t bytes_from = 0, bytes_to = 0;      ///< smallest and largest size measured; 0, 0: not known
};

/// NCCL is to take this algorithm and protocol, for measurement contradicts its model.
struct TunedChoice {
  Collective collective = Collective::all_reduce;
  int nodes_from = 1, nodes_to = 0;  ///< from this number of nodes to below that one; 0: no upper limit
  int ranks_per_node = 8;
  std::int64_t bytes_from = 0, bytes_to = 0;  ///< likewise; bytes as in bus_factor()
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::string reason;

  bool covers_nodes(int nodes) const { return nodes >= nodes_from && (nodes_to == 0 || nodes < nodes_to); }
};

struct MeasurementFile {
  std::string file;
  std::int64_t rows = 0;
  std::string hash;  ///< of its bytes, hex_text(content_hash())
};

struct Provenance {
  std::string created;  ///< UTC
  std::string tool;     ///< "octet 0.1.0"
  std::vector<MeasurementFile> measurements;
  std::vector<std::string> notes;
};

struct TuningFile {
  std::string cluster;
  std::string fabric;  ///< as in the cluster's profile
  std::string nccl;    ///< "2.28.9": it applies to every release of 2.28
  Provenance provenance;
  TunedConstants constants;
  std::vector<TunedFit> fits;
  std::vector<TunedChoice> choices;
};

/// 28 of "2.28.9" and of "2.28"; -1 for what is no version of NCCL 2.
int nccl_minor(std::string_view version);

/// Throw a usage error that names the file, the key, its value and what was expected: also for unknown and repeated
/// keys, a choice or constant that NCCL has no kernel for, a constant out of bounds or given twice, and two choices for
/// the same bytes on the same shape.
TuningFile parse_tuning_file(std::string_view text, const std::string& file);
/// The file's bytes; a usage error where it is not there, empty or cannot be read.
std::string tuning_text(const std::string& file);
TuningFile read_tuning_file(const std::string& file);
/// Why others could change a file by which NCCL is about to be tuned: everybody may write to it or to a folder on its
/// way, or somebody else has put it into one where all may put files. Empty where nobody can, and where it is not
/// there.
std::string changeable_by_others(const std::string& file);

/// Readable, a row a line, and always the same text for the same content; it reads back to the same content.
std::string to_json(const TuningFile& tuning);
/// Replaces the file at that path, whole or not at all. Throws a usage error where it cannot be written.
void write_tuning_file(const std::string& file, const TuningFile& tuning);

}  // namespace octet
