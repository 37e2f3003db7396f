#pragma once

#include "src/comm/nccl/nccl_api.h"
#include "src/comm/nccl_communicator.h"

namespace octet {

/// make_nccl_communicator with the functions of `api`, which must outlive it; for tests also on a CPU stream.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> rendezvous, Stream& stream,
                                                     const NcclSettings& settings, const NcclApi& api);

}  // namespace octet
