#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/wait_meter.h"

namespace octet {

/// One call of a communicator, as this rank made it.
struct CommRecord {
  std::string operation;  ///< "all_gather", the method's name; a reduction's has its operation: "all_reduce_max"
  std::string group;
  int ranks = 0;  ///< of the group
  DType dtype = DType::u8;
  std::int64_t count = 0;  ///< the argument of the call; 0 for a barrier
  /// The bytes of the call's larger buffer on this rank: ranks · count · size for all-gather, reduce-scatter and
  /// all-to-all, count · size for the rest.
  std::int64_t bytes = 0;
  std::string unit;  ///< of the innermost UnitScope, empty outside of any

  bool operator==(const CommRecord&) const = default;
};

/// The calls in order. Main thread only.
class CommTrace {
 public:
  /// `with_last`: in the group of calls of the one before, which start together.
  void add(CommRecord record, bool with_last = false) {
    if (!with_last) starts_.push_back(records_.size());
    records_.push_back(std::move(record));
  }
  void clear() {
    records_.clear();
    starts_.clear();
  }
  const std::vector<CommRecord>& records() const { return records_; }
  /// The same calls, as spans of those that started together.
  std::vector<std::span<const CommRecord>> starts() const;
  /// How many calls of that operation, in that group unless it is empty.
  std::int64_t calls(std::string_view operation, std::string_view group = {}) const;
  /// Their bytes.
  std::int64_t bytes(std::string_view operation, std::string_view group = {}) const;
  /// One JSON object a line, with the fields of CommRecord.
  std::string json_lines() const;
  /// Replaces all that the file of that name has with json_lines(), and makes it where it is missing. Where it cannot,
  /// throws an error that names the path: usage for a path that is wrong, internal for a full disk or a device that
  /// fails (not_written of src/base/files.h).
  void write(const std::string& path) const;

 private:
  std::vector<CommRecord> records_;
  std::vector<std::size_t> starts_;  ///< places of those that are not with the one before
};

/// Wraps `inner` so that every call, also of the groups split from it, is recorded in `trace`, is a span of the
/// Timeline that lives now whenever that one records, and has its time added to `meter`. `trace` and `meter` must
/// outlive it. Without any of the three it is `inner` itself.
std::unique_ptr<Communicator> make_traced(std::unique_ptr<Communicator> inner, CommTrace* trace,
                                          WaitMeter* meter = nullptr);

/// What a collective brings through the slowest link of a rank at least, by the factors of nccl-tests
/// (doc/PERFORMANCE.md, "bus bandwidth"): bytes · (n - 1)/n for all_gather, reduce_scatter and all_to_all, twice that
/// for an all-reduce, none for a recv, which counts where it is sent, and bytes for the rest. `bytes` are those of
/// CommRecord.
double bus_bytes(std::string_view operation, int ranks, std::int64_t bytes);

}  // namespace octet
