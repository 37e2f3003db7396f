#pragma once

#include <cstdint>
#include <string>

namespace octet {

/// NCCL refuses two ranks of one node on one GPU ("Duplicate GPU detected"). Where `ranks_per_gpu` > 1 the ranks that
/// share one become ranks of different nodes to it: NCCL_HOSTID, which it reads once in the life of a process. So this
/// comes before NCCL is loaded; internal error where it is, and has read another one.
/// `local_rank`: among the ranks of `node`, which take its GPUs one after the other.
void separate_ranks(const std::string& node, int local_rank, std::int64_t ranks_per_gpu);

}  // namespace octet
