#pragma once

#include <cstdint>
#include <vector>

#include "jobs/commbench/pattern_copier.h"
#include "src/comm/communicator.h"
#include "src/comm/trace.h"
#include "src/device/buffer.h"

namespace octet::commbench {

/// Calls that a rank makes at once, with memory for them. Operations are those of CommRecord; count and dtype as in the
/// call. all_gather is in place, as training does it, all_reduce and broadcast (from rank 0) are by their nature. A
/// send goes to the next rank of the group; its recv comes from the one before.
class Exercise {
 public:
  /// Bytes of memory that the calls take on a rank of a group of so many.
  static std::int64_t bytes(const std::vector<CommRecord>& calls, int ranks);

  /// Collective over `comm` (its memory may be).
  Exercise(Communicator& comm, const std::vector<CommRecord>& calls);

  /// Writes inputs of the pattern, and into outputs what no result is.
  void fill(Pattern& pattern);
  /// The calls, in one group where there are several. Does not wait for the device.
  void run(Communicator& comm);
  /// Elements of outputs that are not what they must be after fill() and one run(). Every byte is compared.
  std::int64_t count_wrong(Pattern& pattern);

 private:
  struct Place {
    CommRecord call;
    std::int64_t input = 0, output = 0;  ///< byte offsets; equal where the call is in place
    std::int64_t first = 0;              ///< element of the pattern at which its inputs begin: no two calls' are equal
  };

  char* at(std::int64_t offset) const { return buffer_.as<char>() + offset; }
  void issue(Communicator& comm, const Place& place);

  Communicator& comm_;
  int rank_, ranks_;
  std::vector<Place> places_;
  Buffer buffer_;
  PatternCopier copier_;
};

}  // namespace octet::commbench
