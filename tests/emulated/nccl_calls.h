#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/emulated/checks/moments.h"

/// Calls of the emulated NCCL as pieces of a stream's work, and what they reach of the device's memory.
namespace octet::emulated {

/// A call that MPI has begun.
struct Begun {
  struct Range {
    const void* p;
    std::size_t bytes;
    bool writes, when_heard;
  };

  bool is_alone = true;    ///< of its piece of work
  std::vector<char> sent;  ///< copied when it begins, since MPI takes no overlapping buffers
  std::vector<MPI_Request> requests;
  Clock::Told tells, heard;  ///< with the message: what is before it on the ranks
  std::vector<Range> ranges;

  MPI_Request* request() { return &requests.emplace_back(MPI_REQUEST_NULL); }
  void reads(const void* p, std::size_t n) { ranges.push_back({p, n, false, false}); }
  /// From the call's beginning on, or no earlier than when it has heard what it waits for.
  void writes(const void* p, std::size_t n) { ranges.push_back({p, n, true, false}); }
  void writes_when_heard(const void* p, std::size_t n) { ranges.push_back({p, n, true, true}); }
  void copy_sent(const void* data, std::size_t bytes);
};
using Begin = std::function<void(Begun&)>;

/// Does the calls of a group, or one, as this thread's piece of work. Throws Fault where the checks find something,
/// once all is over, so that no peer waits for a call.
void carry_out(const std::vector<Begin>& calls);

/// What a call tells, and as much room for what each of so many ranks tells. False where nobody asks. `with_itself`:
/// who hears it knows that this call is over, too.
bool begin_telling(Begun& b, int ranks, bool with_itself = false);
/// Behind the call is what was before it on any rank of the communicator.
void tell_all(Begun& b, MPI_Comm comm, int ranks);

int world_rank();

}  // namespace octet::emulated
