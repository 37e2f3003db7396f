#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// NCCL's policies in its order, from NCCL_CTA_POLICY_DEFAULT.
enum class CtaPolicy : std::uint8_t { standard, efficiency, zero };
constexpr auto names_of(CtaPolicy) {
  return std::to_array<std::string_view>({"default", "efficiency", "zero"});
}

/// What NCCL is told of the memory that a group sends from and receives in: nothing; each buffer (ncclCommRegister), so
/// that NVLink and, without PXN, the network can reach it without a copy; a window of the same layout on all ranks
/// (ncclCommWindowRegister), which its symmetric kernels and copy engines want.
enum class NcclBuffers : std::uint8_t { plain, registered, symmetric };
constexpr auto names_of(NcclBuffers) {
  return std::to_array<std::string_view>({"plain", "registered", "symmetric"});
}

/// How NCCL serves the groups of one mesh dimension (ncclConfig_t).
struct NcclGroupSettings {
  std::int64_t min_ctas = 0;  ///< thread blocks that a collective takes of the GPU at least; 0: NCCL's choice
  std::int64_t max_ctas = 0;  ///< and at most
  CtaPolicy cta_policy = CtaPolicy::standard;
  NcclBuffers buffers = NcclBuffers::plain;

  bool operator==(const NcclGroupSettings&) const = default;
};

/// What variables of the environment say of the memory that NCCL takes (nccl_footprint.h), and what holds without them.
struct NcclVariables {
  /// NCCL_RUNTIME_CONNECT and NCCL_CUMEM_ENABLE; else a communicator is connected when it is made.
  bool connects_when_used = true;
  std::int64_t buffer = 4 << 20;           ///< NCCL_BUFFSIZE: of the protocol Simple, a connection
  std::int64_t nvls_chunk = 128 << 10;     ///< NCCL_NVLS_CHUNKSIZE
  std::int64_t message_chunk = 128 << 10;  ///< NCCL_P2P_NET_CHUNKSIZE

  bool operator==(const NcclVariables&) const = default;
};

struct NcclSettings {
  NcclGroupSettings dp_shard{}, dp_replicate{}, tp{};
  NcclGroupSettings pp{};          ///< of messages between stages: max_ctas alone
  std::string tuning_file{};       ///< for the tuner plugin; empty: what the environment says
  std::int64_t ranks_per_gpu = 1;  ///< above 1 only for tests: NCCL takes each rank for a node of its own

  bool one_rank_groups = false;  ///< groups of one rank are NCCL's too; no key: parallel.one_rank_exchange asks for it
  NcclVariables variables{};     ///< of the environment that the run has; no key

  /// The settings of the group of that name; other groups have the defaults: they carry next to nothing.
  const NcclGroupSettings& of(std::string_view group) const {
    static const NcclGroupSettings none;
    return group == "dp_shard" || group == "dp_shard_cp" ? dp_shard
           : group == "dp_replicate"                     ? dp_replicate
           : group == "tp"                               ? tp
           : group == "pp_down" || group == "pp_up"      ? pp
                                                         : none;
  }
};

/// NCCL refuses two ranks of one node on one GPU ("Duplicate GPU detected"). Where `ranks_per_gpu` > 1 the ranks that
/// share one become ranks of different nodes to it: NCCL_HOSTID, which it reads once in the life of a process. So this
/// comes before NCCL is loaded; internal error where it is, and has read another one.
/// `local_rank`: among the ranks of `node`, which take its GPUs one after the other.
void separate_ranks(const std::string& node, int local_rank, std::int64_t ranks_per_gpu);

}  // namespace octet
