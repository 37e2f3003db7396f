#include "tests/emulated/nccl_calls.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/checks/watched.h"

namespace octet::emulated {
namespace {

/// Asks now and then: MPICH's own waiting would take a processor from each stream.
void wait_for(std::vector<MPI_Request>& requests) {
  for (MPI_Request& request : requests) {
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0;) usleep(50);
  }
}

bool meet(const Begun::Range& a, const Begun::Range& b) {
  const auto first = reinterpret_cast<std::uintptr_t>(a.p), second = reinterpret_cast<std::uintptr_t>(b.p);
  return (a.writes || b.writes) && first < second + b.bytes && second < first + a.bytes;
}

/// NCCL does the calls of a group at once.
void check_apart(const std::vector<Begun>& begun) {
  for (auto one = begun.begin(); one != begun.end(); ++one) {
    for (auto other = begun.begin(); other != one; ++other) {
      for (const Begun::Range& a : one->ranges) {
        if (std::any_of(other->ranges.begin(), other->ranges.end(), [&](const auto& b) { return meet(a, b); }))
          throw Fault("two calls of a group of NCCL reach the same bytes, of which one writes");
      }
    }
  }
}

void hear(Moment& me, const Begun& b) {
  const auto step = static_cast<std::ptrdiff_t>(b.tells.size());
  for (auto from = b.heard.begin(); from != b.heard.end(); from += step)
    me.clock.hear({from, from + step}, world_rank());
}

void reach(const Begun& b, bool when_heard, const Moment& as) {
  const Doing doing(as);
  for (const Begun::Range& range : b.ranges) {
    if (range.when_heard == when_heard) (range.writes ? piece_writes : piece_reads)(range.p, range.bytes);
  }
}

}  // namespace

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void Begun::copy_sent(const void* data, std::size_t bytes) {
  reads(data, bytes);
  sent.assign(static_cast<const char*>(data), static_cast<const char*>(data) + bytes);
}

void carry_out(const std::vector<Begin>& calls) {
  std::vector<Begun> begun(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    begun[i].is_alone = calls.size() == 1;
    calls[i](begun[i]);
  }
  for (Begun& b : begun) wait_for(b.requests);
  if (!accesses_are_checked) return;
  check_apart(begun);
  const Moment beginning = Doing::now();
  for (const Begun& b : begun) {
    reach(b, false, beginning);
    Moment heard = beginning;  // this call's messages alone: those of the group's others may come later
    hear(heard, b);
    reach(b, true, heard);
    hear(Doing::now(), b);
  }
}

bool begin_telling(Begun& b, int ranks, bool with_itself) {
  if (!accesses_are_checked) return false;
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const Moment& now = Doing::now();
  b.tells = (with_itself ? now.clock : now.before()).told(world_rank(), processes);
  b.heard.resize(b.tells.size() * static_cast<std::size_t>(ranks));
  return true;
}

void tell_all(Begun& b, MPI_Comm comm, int ranks) {
  if (!begin_telling(b, ranks)) return;
  const auto count = static_cast<int>(b.tells.size());
  MPI_Iallgather(b.tells.data(), count, MPI_UINT64_T, b.heard.data(), count, MPI_UINT64_T, comm, b.request());
}

}  // namespace octet::emulated
