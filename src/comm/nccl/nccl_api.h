#pragma once

#include <nccl.h>

#include <cstddef>

#include "src/comm/nccl_communicator.h"

namespace octet {

/// What is used of NCCL, by its own names and types, and how. Tests put their own functions and numbers there.
struct NcclApi {
  decltype(&::ncclGetVersion) get_version;
  decltype(&::ncclGetUniqueId) get_unique_id;
  decltype(&::ncclCommInitRankConfig) comm_init_rank_config;
  decltype(&::ncclCommFinalize) comm_finalize;
  decltype(&::ncclCommDestroy) comm_destroy;
  decltype(&::ncclCommAbort) comm_abort;
  decltype(&::ncclCommGetAsyncError) comm_get_async_error;
  decltype(&::ncclGetErrorString) get_error_string;
  decltype(&::ncclGetLastError) get_last_error;
  decltype(&::ncclGroupStart) group_start;
  decltype(&::ncclGroupEnd) group_end;
  decltype(&::ncclAllGather) all_gather;
  decltype(&::ncclReduceScatter) reduce_scatter;
  decltype(&::ncclAllReduce) all_reduce;
  decltype(&::ncclBroadcast) broadcast;
  decltype(&::ncclSend) send;
  decltype(&::ncclRecv) recv;
  decltype(&::ncclMemAlloc) mem_alloc;
  decltype(&::ncclMemFree) mem_free;
  decltype(&::ncclCommRegister) comm_register;
  decltype(&::ncclCommDeregister) comm_deregister;
  // These came with NCCL 2.27 and are null in an older library; ncclWindow_t is a pointer that older headers do not
  // have.
  ncclResult_t (*comm_window_register)(ncclComm_t, void*, std::size_t, void**, int);
  ncclResult_t (*comm_window_deregister)(ncclComm_t, void*);
  /// Since NCCL 2.23, null in an older library: communicator, ranks, rank, number of ids, ids, settings.
  ncclResult_t (*comm_init_rank_scalable)(ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*) = nullptr;

  /// Sends and receives that a communicator gets in one group of NCCL at most: with more, NCCL was seen to hang. It
  /// divides what a group holds into launches by a budget of each rank, and matching calls can end up in different ones
  /// (pytorch/pytorch#174942).
  int most_exchanges = 256;
  /// About so many ranks meet at one id. Of more than 256, NCCL has each wait for its turn there
  /// (NCCL_UID_STAGGER_THRESHOLD).
  int ranks_an_id = 128;
};

/// The functions of libnccl.so.2, loaded when it is first asked for. Usage error when it is not found or older
/// than 2.19: communicators cannot be polled before 2.18, nor memory be registered before 2.19.
const NcclApi& nccl_api();

/// make_nccl_communicator with the functions of `api`, which must outlive it; for tests also on a CPU stream.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> rendezvous, Stream& stream,
                                                     const NcclSettings& settings, const NcclApi& api);

}  // namespace octet
