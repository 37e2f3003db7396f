#pragma once

#include "src/comm/communicator.h"

namespace octet {

/// What a rank knows of NVLink SHARP.
struct NvlsMeans {
  bool multicast = false;      ///< of its GPU, as src/device/device.h has it
  int compute_capability = 0;  ///< likewise
  int local_size = 1;          ///< ranks of its node
};

/// Whether NCCL takes NVLink SHARP. With NCCL_NVLS_ENABLE=2, its default, single ranks of NCCL 2.27 and 2.28 fall back
/// where memory cannot be bound to multicast, and the others can hang. With 1 they fail instead, but nobody is asked
/// whether there is multicast at all. So all ranks ask before: this sets 1 where the GPUs of all have multicast, else
/// 0. Rank 0 logs which, on GPUs of Hopper and later where a node has several ranks. A value of the environment or of
/// NCCL's files of settings stays.
/// NCCL 2.30 refuses 1 where ranks of one host share a GPU; with nccl.ranks_per_gpu > 1 those that share one are of
/// different hosts to it, by their NCCL_HOSTIDs (separate_ranks). Before NCCL is loaded. Collective.
void choose_nvls(const NvlsMeans& mine, Communicator& control);

}  // namespace octet
