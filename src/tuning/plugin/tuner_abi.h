#pragma once

#include <cstddef>
#include <cstdint>

// The interface between NCCL and a tuner plugin, declared anew from its binary layout: src/include/plugin/tuner/
// tuner_v{4,5,6}.h and src/include/nccl_common.h of NCCL v2.27.7-1, v2.28.9-1 and v2.30.7-1. The assertions hold the
// layout of a 64-bit Linux. Which release asks for which symbol: 2.24 to 2.27 ncclTunerPlugin_v4, 2.28 and 2.29 _v5,
// 2.30 and later _v6; each tries older ones when the newest is not there.

namespace octet::tuner_abi {

inline constexpr int success = 0;  ///< ncclSuccess; whatever else a tuner returns fails the collective or the init

/// ncclFunc_t, whose values 0 to 4 are those of Collective.
using Function = unsigned;

enum LogLevel : unsigned { log_warn = 2, log_info = 3 };  ///< ncclDebugLogLevel
inline constexpr unsigned long log_init = 0x1, log_tuning = 0x40;

/// ncclDebugLogger_t: level, subsystems, file, line, a format as of printf and its arguments.
using Logger = void (*)(LogLevel, unsigned long, const char*, int, const char*, ...);

inline constexpr int algorithms = 7, protocols = 3, links = 3, generations = 4, scales = 3;

/// ncclTunerConstants_v5_t: latencies in us, bandwidths of a channel in GB/s.
struct Constants {
  double base_latencies[algorithms][protocols];
  double hw_latencies[links][algorithms][protocols];
  double ll_max_bws[generations][scales];
  double per_channel_max_ring_ll128_bws[generations][scales];
  double per_channel_max_tree_ll128_bws[generations][scales];
  double per_channel_max_tree_bws[generations][scales];
  double per_channel_max_nvls_tree_bws[generations][scales];
};
static_assert(sizeof(double) == 8);
static_assert(offsetof(Constants, hw_latencies) == 168);
static_assert(offsetof(Constants, ll_max_bws) == 672);
static_assert(offsetof(Constants, per_channel_max_ring_ll128_bws) == 768);
static_assert(offsetof(Constants, per_channel_max_tree_ll128_bws) == 864);
static_assert(offsetof(Constants, per_channel_max_tree_bws) == 960);
static_assert(offsetof(Constants, per_channel_max_nvls_tree_bws) == 1056);
static_assert(sizeof(Constants) == 1152);

/// ncclNvlDomainInfo_v5_t.
struct NvlDomains {
  int count, least_ranks, most_ranks;
};
static_assert(sizeof(NvlDomains) == 12);

/// context, function, bytes, pipelined operations, costs, algorithms, protocols, whether buffers are registered,
/// channels.
///
/// The costs are float[algorithms][protocols], one piece of memory in spite of the type, of predicted microseconds; -1
/// is what NCCL cannot or may not run. NCCL takes the least that is not negative. Channels come as 0: NCCL's choice.
using GetCollInfo = int (*)(void*, Function, std::size_t, int, float**, int, int, int, int*);
using Finalize = int (*)(void*);
/// ranks, nodes, logger, where the context goes.
using InitV4 = int (*)(std::size_t, std::size_t, Logger, void**);
/// where the context goes, communicator, ranks, nodes, logger, NVLink domains, constants to read and change.
using InitV5 = int (*)(void**, std::uint64_t, std::size_t, std::size_t, Logger, NvlDomains*, Constants*);
/// context, function, bytes, algorithm, protocol, channels, chunk bytes to read and change.
using GetChunkSize = int (*)(void*, Function, std::size_t, int, int, int, std::size_t*);

struct TunerV4 {
  const char* name;
  InitV4 init;
  GetCollInfo get_coll_info;
  Finalize destroy;
};
static_assert(offsetof(TunerV4, init) == 8 && offsetof(TunerV4, get_coll_info) == 16);
static_assert(offsetof(TunerV4, destroy) == 24 && sizeof(TunerV4) == 32);

struct TunerV5 {
  const char* name;
  InitV5 init;
  GetCollInfo get_coll_info;
  Finalize finalize;
};
static_assert(offsetof(TunerV5, init) == 8 && offsetof(TunerV5, get_coll_info) == 16);
static_assert(offsetof(TunerV5, finalize) == 24 && sizeof(TunerV5) == 32);

struct TunerV6 {
  const char* name;
  InitV5 init;
  GetCollInfo get_coll_info;
  Finalize finalize;
  GetChunkSize get_chunk_size;  ///< null: NCCL's sizes
};
static_assert(offsetof(TunerV6, init) == 8 && offsetof(TunerV6, get_coll_info) == 16);
static_assert(offsetof(TunerV6, finalize) == 24 && offsetof(TunerV6, get_chunk_size) == 32 && sizeof(TunerV6) == 40);

}  // namespace octet::tuner_abi
