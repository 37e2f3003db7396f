#pragma once

#include <vector>

#include "src/comm/nccl/nccl_api.h"

namespace octet {

/// The ranks that create the ids by which the ranks of a communicator find each other: up to 2 · `ranks_an_id` ranks
/// rank 0 alone, beyond that one rank for about every `ranks_an_id` ranks. Each is the first of the ranks that NCCL
/// assigns to its id ("Creating a communicator using multiple ncclUniqueIds" in NCCL's user guide).
std::vector<int> id_makers(int ranks, int ranks_an_id);

/// The ids for a communicator of the ranks of `rendezvous`, several only where the library takes more than one: a usage
/// error then where NCCL_COMM_ID is set. Collective.
std::vector<ncclUniqueId> common_ids(const NcclApi& api, Communicator& rendezvous);

/// With NCCL_COMM_ID, rank 0 of every communicator waits for the others at that one address. Groups of all ranks have
/// the same rank 0, and are made one after the other. But those of a split are made at the same time: on one host
/// their ranks come to each other's rank 0, and on another host there is no such address (bootstrapGetUniqueId and
/// bootstrapCreateRoot in src/bootstrap.cc of NCCL 2.28.9, ncclSocketListen in src/misc/socket.cc). Usage error where
/// the variable is set and `part` is of several ranks, and not all the `ranks` that were split.
void require_one_meeting(const Communicator& part, int ranks);

}  // namespace octet
