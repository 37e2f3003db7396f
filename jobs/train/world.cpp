#include "jobs/train/world.h"

#include <cstdlib>

#include "src/base/log.h"
#include "src/comm/nccl_communicator.h"

namespace octet {
namespace {

/// For NCCL, ranks that share a GPU must be of different nodes.
void separate_ranks(const MpiRuntime& mpi, const NcclSettings& settings) {
  if (settings.ranks_per_gpu == 1) return;
  const std::string id = fmt::format("{}.{}", mpi.node(), mpi.local_rank() % settings.ranks_per_gpu);
  setenv("NCCL_HOSTID", id.c_str(), 1);
  if (mpi.rank() == 0)
    log::warning("nccl.ranks_per_gpu = {}: ranks share GPUs, for tests alone", settings.ranks_per_gpu);
}

}  // namespace

Device& open_device(const std::string& device, const MpiRuntime& mpi, const NcclSettings& settings) {
  return device == "cuda" ? cuda_device(mpi.local_rank() / static_cast<int>(settings.ranks_per_gpu)) : cpu_device();
}

std::unique_ptr<Communicator> make_world(Stream& stream, Communicator& hosts, const MpiRuntime& mpi,
                                         const NcclSettings& settings) {
  separate_ranks(mpi, settings);
  if (stream.device().type() == DeviceType::cpu) return hosts.split(0, hosts.rank(), "world");
  if (hosts.size() == 1 && !settings.one_rank_groups) return make_self_communicator(stream, "world");
  return make_nccl_communicator(hosts.split(0, hosts.rank(), "world"), stream, settings);
}

}  // namespace octet
