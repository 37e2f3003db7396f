#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/commbench/measure.h"

namespace octet::commbench {

/// One line of the table.
struct Row {
  std::string part;   ///< sweep, run
  std::string group;  ///< world, dp_shard, ...
  int groups = 1;     ///< that were busy at once
  int ranks = 1, nodes = 1;
  std::vector<CommRecord> calls;  ///< at once
  std::int64_t times = 0;         ///< a step of the run; 0 in the sweep
  Measured measured;

  /// all_reduce, send, ...: of the first call, without how it reduces.
  std::string collective() const;
  /// sum, max, none.
  std::string reduction() const;
  /// The bytes of the larger buffers of all calls; what is received by a recv is not counted again.
  std::int64_t bytes() const;
  std::int64_t count() const;
  /// GB/s (1e9 bytes) from the median: bytes over time, and by nccl-tests' factors what a link must carry.
  double algorithm_bandwidth() const;
  double bus_bandwidth() const;
};

/// Where and how the numbers were measured.
struct Provenance {
  std::string created;  ///< UTC, ISO 8601
  std::string version, backend, library, command;
  std::string nccl;                ///< version, empty without
  std::vector<std::string> hosts;  ///< each once, in the order of ranks
  int ranks = 1;
  int cores = 0;  ///< that rank 0 and others share, where there are fewer than ranks on them; else 0
  int ranks_on_cores = 0;
  nlohmann::ordered_json environment =
      nlohmann::ordered_json::object();  ///< of rank 0: NCCL_*, MPIR_CVAR_*, UCX_*, ...
};

/// Standard output in the manner of nccl-tests, and the JSON file. Rank 0 alone speaks (src/base/log.h).
class Report {
 public:
  explicit Report(Provenance provenance);

  void comment(const std::string& text) const;
  /// Prints what stands above the rows that follow.
  void heading(const std::string& text, bool of_run, bool compared) const;
  void add(const Row& row);
  /// A key of the file beside "rows".
  void attach(const std::string& key, nlohmann::ordered_json value) { json_[key] = std::move(value); }
  /// Counts wrong elements that belong to no row.
  void add_wrong(std::int64_t elements) { wrong_ += elements; }
  /// The last lines.
  void finish() const;
  /// Usage error that names the path where the file cannot be written.
  void write(const std::string& path) const;
  /// The same error before there are results; what is at `path` stays.
  static void check_writable(const std::string& path);
  std::int64_t wrong() const { return wrong_; }
  /// Ranks wait for each other's core.
  bool ranks_share_cores() const { return json_["provenance"]["ranks_share_cores"]; }

 private:
  nlohmann::ordered_json json_;
  std::int64_t wrong_ = 0, rows_ = 0;
  double bus_bandwidths_ = 0;
};

/// float, bfloat16, f8e4m3, ...: nccl-tests' names.
std::string type_name(DType dtype);

}  // namespace octet::commbench
