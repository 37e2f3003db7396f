#pragma once

#include <cuda_runtime_api.h>
#include <mpi.h>
#include <nccl.h>

#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/emulated/nccl_calls.h"

/// How the emulated NCCL launches what a host asks for. NCCL connects late (NCCL_RUNTIME_CONNECT): a launch is in
/// progress until the peers' hosts have come to what it uses for the first time, and streams get its calls then. An
/// order of calls in which two hosts would wait for each other hangs here, too. With OCTET_EMULATED_MEETINGS=1 hosts
/// meet for every call: what comes to an end then does so whichever calls wait.
namespace octet::emulated {

struct Launch;

/// What is connected when it is used first: an algorithm for a collective, which its name and bit_width of its bytes
/// stand for here, by all hosts; a send's or receive's peer by the two of them.
using Way = std::pair<std::string_view, int>;

/// What an ncclComm_t points to. MPI's communicators are kept: freeing one is a call of all, for which nobody waits
/// here.
struct Comm {
  MPI_Comm streams = MPI_COMM_NULL;  ///< for what streams do
  MPI_Comm hosts = MPI_COMM_NULL;
  int rank = 0, size = 1;
  bool blocks = true;  ///< its calls return when they are launched
  std::set<Way> connected;
  std::shared_ptr<Launch> launch;  ///< that is in progress

  static Comm& of(ncclComm_t comm) { return *reinterpret_cast<Comm*>(comm); }
};

/// A call that a host made, of a group or alone.
struct Call {
  Comm* comm;
  cudaStream_t stream;
  const char* name;
  Way way;
  Begin begin;
};

/// NCCL's rule: no communicator is used while a launch of it is in progress.
bool in_progress(Comm& comm);
/// Begins to connect what the calls need. ncclInProgress where their communicator does not block; in_progress says when
/// that is over.
ncclResult_t launch(std::vector<Call> calls);
/// Forgets a launch that is in progress.
void give_up(Comm& comm);

}  // namespace octet::emulated
