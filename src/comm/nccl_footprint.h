#pragma once

#include <cstdint>

#include "src/comm/nccl_settings.h"

namespace octet {

/// All-reduces up to this size count as the exchange of a few numbers, for which NCCL is taken not to set up NVLS. That
/// is an assumption as long as it was not measured.
constexpr std::int64_t few_bytes = 64 << 10;

/// What a communicator is used for: NCCL connects its ranks only for what they do.
struct NcclTraffic {
  bool gathers = false;    ///< all_gather, reduce_scatter, broadcast
  bool reduces = false;    ///< all_reduce of more than few_bytes
  bool agrees = false;     ///< all_reduce of fewer
  bool exchanges = false;  ///< all_to_all, send and recv, with all others

  NcclTraffic& operator|=(const NcclTraffic& other);
};

/// Bytes that a communicator of NCCL takes of its GPU for itself: an upper estimate for a rank of a group of `ranks` on
/// `nodes` nodes, equally many on each. It is made without NCCL and without a GPU from the sizes in the sources of NCCL
/// 2.28 for H100s with NVLink and NVSwitch in a node and GPUDirect RDMA between nodes; measured it was not. Of NCCL's
/// variables it knows those of NcclVariables alone. It does not know SHARP, a tuner that leaves algorithms unused, or
/// what a GPU holds for messages of its node's other ranks (PXN).
std::int64_t nccl_bytes(int ranks, int nodes, const NcclGroupSettings& settings, const NcclTraffic& traffic,
                        const NcclVariables& variables = {});

}  // namespace octet
