#pragma once

#include <string>

#include "src/comm/nccl/nccl_api.h"

namespace octet {

/// What a result means, and the last warning that NCCL has had for this process. It is one text for all communicators,
/// which NCCL keeps whatever NCCL_DEBUG says; so it is there also where a communicator was refused and is null.
std::string nccl_reason(const NcclApi& api, ncclResult_t result);

}  // namespace octet
