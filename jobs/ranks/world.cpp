#include "jobs/ranks/world.h"

#include "src/base/log.h"
#include "src/comm/nccl_communicator.h"
#include "src/comm/nccl_settings.h"

namespace octet {

Device& open_device(DeviceType device, const MpiRuntime& mpi, const NcclSettings& settings) {
  if (settings.ranks_per_gpu > 1 && mpi.rank() == 0) {
    log::warning("nccl.ranks_per_gpu = {}: ranks share GPUs, for tests alone", settings.ranks_per_gpu);
  }
  separate_ranks(mpi.node(), mpi.local_rank(), settings.ranks_per_gpu);
  return device == DeviceType::cuda ? cuda_device(mpi.local_rank() / static_cast<int>(settings.ranks_per_gpu))
                                    : cpu_device();
}

std::unique_ptr<Communicator> make_world(Stream& stream, Communicator& hosts, const NcclSettings& settings) {
  if (stream.device().type() == DeviceType::cpu) return hosts.on_stream(stream, "world");
  if (hosts.size() == 1 && !settings.one_rank_groups) return make_self_communicator(stream, "world");
  return make_nccl_communicator(hosts.split(0, hosts.rank(), "world"), stream, settings);
}

}  // namespace octet
