#pragma once

#include <vector>

#include "src/comm/nccl/nccl_api.h"

namespace octet {

/// The ranks that make the ids by which all of a communicator find each other: rank 0 alone up to 2 · `ranks_an_id`
/// ranks, above that one for about `ranks_an_id` ranks each. Each is the first of those that NCCL has meet at its id
/// ("Creating a communicator using multiple ncclUniqueIds" in NCCL's user guide).
std::vector<int> id_makers(int ranks, int ranks_an_id);

/// The ids for a communicator of the ranks of `rendezvous`, several only where the library takes more than one.
/// Collective.
std::vector<ncclUniqueId> common_ids(const NcclApi& api, Communicator& rendezvous);

}  // namespace octet
