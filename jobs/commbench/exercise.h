#pragma once

#include <cstdint>
#include <vector>

#include "jobs/commbench/pattern_copier.h"
#include "src/comm/communicator.h"
#include "src/comm/trace.h"
#include "src/device/buffer.h"

namespace octet::commbench {

/// Where a call's result is.
enum class Form {
  training,      ///< as training has it: all_gather, all_reduce and broadcast in place, the others not
  out_of_place,  ///< in memory of its own
  in_place,      ///< in that of the input: rank r's part of it, where one of both has a part for each rank
};

/// Says whether a result of that form is in the input's memory.
bool is_in_place(const std::string& operation, Form form);

/// Says whether a device's communicators have that form only with a copy within the device, which the call then makes:
/// on CPUs all_reduce and broadcast out of place and reduce_scatter in place, everywhere all_to_all in place.
bool needs_copy(const std::string& operation, Form form, DeviceType device);

/// Calls that a rank makes at once, with memory for them. Operations are those of CommRecord; count and dtype as in the
/// call. Broadcasts are from rank 0. A send goes to the next rank of the group; its recv comes from the one before.
class Exercise {
 public:
  /// Bytes of memory that the calls take on a rank of a group of so many.
  static std::int64_t bytes(const std::vector<CommRecord>& calls, int ranks, Form form = Form::training);

  /// Collective over `comm` (its memory may be). Several calls at once have the form of training.
  Exercise(Communicator& comm, const std::vector<CommRecord>& calls, Form form = Form::training);

  /// Writes inputs of the pattern, and into outputs what no result is.
  void fill(Pattern& pattern);
  /// The calls, in one group where there are several. Does not wait for the device.
  void run(Communicator& comm);
  /// Elements of outputs that are not what they must be after fill() and one run(). Every byte is compared.
  std::int64_t count_wrong(Pattern& pattern);

 private:
  struct Place {
    CommRecord call;
    std::int64_t input = 0, output = 0;  ///< byte offsets
    std::int64_t spare = 0;              ///< of what is copied, where something is
    bool in_place = false;
    std::int64_t first = 0;  ///< element of the pattern at which its inputs begin: no two calls' are equal
  };

  char* at(std::int64_t offset) const { return buffer_.as<char>() + offset; }
  void issue(Communicator& comm, const Place& place);
  void all_to_all(Communicator& comm, const Place& place);
  void reduce_scatter(Communicator& comm, const Place& place);

  Communicator& comm_;
  Form form_;
  int rank_, ranks_;
  std::vector<Place> places_;
  Buffer buffer_;
  PatternCopier copier_;
};

}  // namespace octet::commbench
