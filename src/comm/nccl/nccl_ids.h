#pragma once

#include <vector>

#include "src/comm/nccl/nccl_api.h"

namespace octet {

/// The ranks that create the ids by which the ranks of a communicator find each other: up to 2 · `ranks_an_id` ranks
/// rank 0 alone, beyond that one rank for about every `ranks_an_id` ranks. Each is the first of the ranks that NCCL
/// assigns to its id ("Creating a communicator using multiple ncclUniqueIds" in NCCL's user guide).
std::vector<int> id_makers(int ranks, int ranks_an_id);

/// The ids for a communicator of the ranks of `rendezvous`, several only where the library takes more than one.
/// Collective.
std::vector<ncclUniqueId> common_ids(const NcclApi& api, Communicator& rendezvous);

}  // namespace octet
