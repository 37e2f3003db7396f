#pragma once

#include <cstdint>
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
  Form form = Form::training;
  DeviceType device = DeviceType::cpu;
  Measured measured;

  /// all_reduce, send, ...: of the first call, without how it reduces.
  std::string collective() const;
  /// sum, max, none.
  std::string reduction() const;
  int root() const;  ///< -1: there is none
  /// The bytes of the larger buffers of all calls; what is received by a recv is not counted again.
  std::int64_t bytes() const;
  std::int64_t count() const;
  /// GB/s (1e9 bytes) of a call that takes so long: bytes over time, and by nccl-tests' factors what a link must carry.
  double algorithm_bandwidth(double us) const;
  double bus_bandwidth(double us) const;
};

/// What nccl-tests print above their table.
struct SweepHeader {
  std::int64_t min = 0, max = 0, factor = 2;  ///< bytes
  MeasureSettings measure;
};

/// Where and how the numbers were measured.
struct Provenance {
  std::string created;  ///< UTC, ISO 8601
  std::string version, backend, library, command;
  std::string nccl;                    ///< version, empty without
  std::vector<std::string> hosts;      ///< each once, in the order of ranks
  std::vector<std::string> devices{};  ///< of each rank, what device_line() gives
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
  /// Prints what stands above the rows that follow, in columns of our own.
  void heading(const std::string& text, bool of_run, bool compared) const;
  void add(const Row& row);

  // One collective in the columns of nccl-tests, with all that they print around them: what reads theirs reads these.
  // Times are averages, as theirs are.
  void begin_table(const std::string& collective, const SweepHeader& header);
  void add(const Row& out_of_place, const Row& in_place);
  void end_table();

  /// A key of the file beside "rows".
  void attach(const std::string& key, nlohmann::ordered_json value) { json_[key] = std::move(value); }
  /// Counts wrong elements that belong to no row.
  void add_wrong(std::int64_t elements) { wrong_ += elements; }
  /// The last lines, where something is not told below its table.
  void finish() const;
  /// Usage error that names the path where the file cannot be written.
  void write(const std::string& path) const;
  /// The same error before there are results; what is at `path` stays.
  static void check_writable(const std::string& path);
  std::int64_t wrong() const { return wrong_; }
  /// Ranks wait for each other's core.
  bool ranks_share_cores() const { return json_["provenance"]["ranks_share_cores"]; }

 private:
  /// Of some rows.
  struct Sums {
    std::int64_t wrong = 0, rows = 0;
    double bus_bandwidths = 0;

    void add(const Row& row, double us);
  };
  void comment_sums(const Sums& sums) const;
  void add_to_file(const Row& row);

  nlohmann::ordered_json json_;
  std::vector<std::string> devices_;
  std::int64_t wrong_ = 0;
  Sums own_, table_;     ///< in columns of our own; in the table of nccl-tests' that is open
  bool tables_ = false;  ///< of nccl-tests' kind were printed
  std::string program_;  ///< what they call the one that prints the open table
};

/// The line of a rank in nccl-tests' list: "#  Rank  0 Group  0 Pid   4711 on       node device  0 [0000:1b:00] NAME".
/// `index`: the device's on its node.
std::string device_line(int rank, const std::string& node, int index, Device& device);

/// float, bfloat16, f8e4m3, ...: nccl-tests' names.
std::string type_name(DType dtype);

}  // namespace octet::commbench
