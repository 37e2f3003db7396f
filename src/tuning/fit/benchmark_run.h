#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tuning/fit/benchmark_file.h"
#include "src/tuning/fit/nccl_environment.h"

namespace octet {

/// A number as printed: the value lies within half a unit of its last digit.
struct Printed {
  double value = 0;
  double half_unit = 0;
};
/// None where the text is no number.
std::optional<Printed> parse_printed(std::string_view text);

/// What a benchmark says of one run before its rows.
struct RunHeader {
  std::string program;  ///< `all_reduce_perf`, with or without its path; empty: not said
  ForcedByEnvironment environment;
  std::map<int, std::map<std::string, int>> ranks;  ///< by group, by host
};

/// What all rows of a run share.
struct RunFacts {
  Collective collective = Collective::all_reduce;
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  CommShape shape;
  std::string tuner;  ///< as Measurement has it
};

/// `all_reduce` of `/opt/all_reduce_perf_mpi`; empty where it is not a name of nccl-tests' kind.
std::string collective_word(std::string_view program);
/// Says whether nccl-tests have it and NCCL has no choice of algorithm for it: `alltoall`, `sendrecv`, ...
bool is_without_algorithms(std::string_view collective_word);

/// Header and options together; `where` is file and line for messages. Usage errors where they contradict each other,
/// something is missing, or groups or nodes are not alike.
RunFacts facts_of(const RunHeader& header, const ReadOptions& options, std::string_view where);

/// Adds what a run on two nodes says of the two: its largest size, by the median of the rows from `first_row` on. Does
/// nothing for other runs.
void add_pair(const RunHeader& header, std::size_t first_row, BenchmarkFile& file);

struct PrintedRow {
  std::int64_t bytes = 0;
  Printed microseconds, algbw, busbw;
};
/// Usage error where time, bandwidths, collective and number of ranks do not go together.
void check_row(const PrintedRow& row, const RunFacts& facts, std::string_view where);

}  // namespace octet
