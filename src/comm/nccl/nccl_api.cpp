#include "src/comm/nccl/nccl_api.h"

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/cuda/dynamic_library.h"

namespace octet {
namespace {

constexpr int oldest = NCCL_VERSION(2, 19, 0);
constexpr int several_ids_since = NCCL_VERSION(2, 23, 0);
constexpr int windows_since = NCCL_VERSION(2, 27, 0);

NcclApi load() {
  const cuda::DynamicLibrary library("libnccl.so.2", "nvidia-nccl-cu13 from PyPI, or NVIDIA's package libnccl2");
  NcclApi api{};
  const auto bind = [&](auto& function, const char* name) {
    function = library.function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(name);
  };
  bind(api.get_version, "ncclGetVersion");
  bind(api.get_unique_id, "ncclGetUniqueId");
  bind(api.comm_init_rank_config, "ncclCommInitRankConfig");
  bind(api.comm_finalize, "ncclCommFinalize");
  bind(api.comm_destroy, "ncclCommDestroy");
  bind(api.comm_abort, "ncclCommAbort");
  bind(api.comm_get_async_error, "ncclCommGetAsyncError");
  bind(api.get_error_string, "ncclGetErrorString");
  bind(api.get_last_error, "ncclGetLastError");
  bind(api.group_start, "ncclGroupStart");
  bind(api.group_end, "ncclGroupEnd");
  bind(api.all_gather, "ncclAllGather");
  bind(api.reduce_scatter, "ncclReduceScatter");
  bind(api.all_reduce, "ncclAllReduce");
  bind(api.broadcast, "ncclBroadcast");
  bind(api.send, "ncclSend");
  bind(api.recv, "ncclRecv");

  int version = 0;
  api.get_version(&version);
  if (version < oldest) {
    throw usage_error("comm", "{} is NCCL {}.{}, expected 2.19 or newer", library.path(), version / 10000,
                      version / 100 % 100);
  }
  bind(api.mem_alloc, "ncclMemAlloc");
  bind(api.mem_free, "ncclMemFree");
  bind(api.comm_register, "ncclCommRegister");
  bind(api.comm_deregister, "ncclCommDeregister");
  if (version >= several_ids_since) bind(api.comm_init_rank_scalable, "ncclCommInitRankScalable");
  if (version >= windows_since) {
    bind(api.comm_window_register, "ncclCommWindowRegister");
    bind(api.comm_window_deregister, "ncclCommWindowDeregister");
  }
  library.log_version("NCCL", static_cast<std::size_t>(version));
  return api;
}

}  // namespace

const NcclApi& nccl_api() {
  static const NcclApi api = load();
  return api;
}

}  // namespace octet
