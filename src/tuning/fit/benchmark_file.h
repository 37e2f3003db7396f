#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/tuning/measurement.h"

namespace octet {

/// What the readers of JSON below expect.
inline constexpr std::string_view measurements_in_json = "the JSON of a benchmark, whole (did it end while it wrote?)";

/// What the caller knows of files that do not say it themselves. Where a file says otherwise it is a usage error.
struct ReadOptions {
  std::optional<Collective> collective;
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  int nodes = 0;           ///< 0: the number of host names in the file
  int ranks_per_node = 0;  ///< 0: ranks of the file over its nodes
};

/// How long two nodes took for one collective between them, as a run on just these two says.
struct PairTime {
  std::string first, second;  ///< names of the nodes
  double microseconds = 0;
  std::string what = {};  ///< collective and bytes: only pairs of the same are compared
};

/// The rows of a benchmark's output that can be used, and what was left out and why.
struct BenchmarkFile {
  std::string path;
  std::string format;          ///< "nccl-tests text", "nccl-tests JSON", "octet-commbench JSON"
  std::string nccl;            ///< version of the library that ran, "2.28.9"; empty: the file does not say
  std::set<std::string> gpus;  ///< names, where the file lists the devices of its ranks
  std::vector<Measurement> rows;
  std::vector<PairTime> pairs;        ///< of runs on two nodes: their largest size
  std::vector<std::string> findings;  ///< what octet-commbench's own pairwise sweep names as slow
  std::vector<std::string> notes;     ///< each names file and line
  std::string hash;                   ///< of the content, hex_text(content_hash())
};

/// Reads what nccl-tests print (2.0 to 2.19, any number of runs in one log), what they write with -J, and what
/// octet-commbench writes. Rows with wrong results and rows of no bytes are left out with a note; so are runs of
/// collectives that NCCL has no choice of algorithm for. Usage errors name file and line: a damaged row, a time that
/// does not go with its bandwidth, a bus bandwidth that does not go with collective and ranks, a missing name.
BenchmarkFile read_measurements(const std::string& path, const ReadOptions& options = {});

// The three readers; `text` is the file's content.
BenchmarkFile read_nccl_tests_text(const std::string& path, std::string_view text, const ReadOptions& options);
BenchmarkFile read_nccl_tests_json(const std::string& path, std::string_view text, const ReadOptions& options);
BenchmarkFile read_commbench_json(const std::string& path, std::string_view text, const ReadOptions& options);

}  // namespace octet
