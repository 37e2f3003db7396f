#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/comm/nccl_settings.h"

/// NCCL's functions over the communicator of another backend, for CPU memory: as non-blocking communicators, every call
/// is "in progress" until it was asked about a few times, and what a group holds runs when the outermost one ends. Two
/// ranks of one host on one GPU are refused; a host is what NCCL_HOSTID said when the process made its first
/// communicator, and never again (getHostHash in NCCL 2.28's src/misc/utils.cc, "Duplicate GPU" in src/init.cc).
///
/// It refuses what NCCL refuses, or of which NCCL's user guide says that it must not be: settings (nccl_rules.h), calls
/// of a communicator that is still in progress (ncclCommEnsureReady in src/init.cc), windows and buffers in them that
/// are not alike on all ranks, and groups of more sends and receives than NCCL is known to get through. A communicator
/// that refused a call answers with that error from then on.
///
/// What is in progress has a job, shared by the communicators of a group. A communicator's first ncclCommGetAsyncError
/// that succeeds lets go of it, and the last one frees it: all without a lock, as in NCCL since 2.26
/// (ncclGroupJobComplete in src/group.cc), so that two threads that ask are a data race that ThreadSanitizer sees.
namespace octet::test {

/// What the tests set and read, of this process.
struct StandIn {
  int polls = 3;                          ///< until a call is no longer in progress
  ncclResult_t fails_with = ncclSuccess;  ///< what the next questions about any communicator answer
  bool never_ready = false;               ///< calls stay in progress
  int alive = 0, destroyed = 0, aborted = 0;
  int finalized_too_early = 0;  ///< ncclCommFinalize of what is in progress or has failed
  int jobs_made = 0, jobs_freed = 0;
  int asked_elsewhere = 0;  ///< ncclCommGetAsyncError by a thread that did not make the communicator
  int gpu = 0;              ///< that this process uses: all ranks of a test share one
  int version = NCCL_VERSION(2, 28, 0);
  std::string last_error;                       ///< what ncclGetLastError says, of any communicator
  std::map<std::string, ncclConfig_t> configs;  ///< of communicators that were made, by name
  std::map<std::string, ncclComm_t> comms;      ///< themselves, the last of each name; those that ended too
  std::map<std::string, std::size_t> ids;       ///< how many they were made with
  std::vector<std::string> made;                ///< their names, in order
  int ids_made = 0;
  std::size_t most_exchanges = 256;    ///< sends and receives that a communicator may have in one group
  std::vector<std::size_t> exchanges;  ///< how many it had, of each group that had any

  /// Memory from ncclMemAlloc, by its address.
  struct Memory {
    std::size_t bytes = 0;
    std::string group{};  ///< with which it is registered
    bool window = false;
    int order = 0;  ///< of a window: how many its communicator had before
  };
  std::map<const char*, Memory> memory;
  int registrations = 0;               ///< until now
  bool out_of_memory = false;          ///< ncclMemAlloc fails
  bool without_device = false;         ///< nothing is made: CUDA does not start
  std::map<std::string, int> outside;  ///< calls of a group with memory that is not registered with it
};
StandIn& stand_in();

const NcclApi& stand_in_api();

/// As a new process, which has yet to read NCCL_HOSTID.
void forget_host_id();

/// All ranks over the stand-in, on one GPU.
std::unique_ptr<Communicator> make_on_stand_in(Stream& stream, const NcclSettings& settings = {},
                                               const std::string& name = "world");

/// Rank and group of a communicator of the stand-in come from the rendezvous that announced itself last, by an
/// all_gather: NCCL's id says nothing of who has it. Splits announce themselves too.
std::unique_ptr<Communicator> announced(std::unique_ptr<Communicator> inner);

}  // namespace octet::test
