#include "jobs/ranks/world.h"

#include "jobs/ranks/gpu_together.h"
#include "jobs/ranks/nccl_tuner.h"
#include "jobs/ranks/node_order.h"
#include "jobs/ranks/nvls.h"
#include "src/base/log.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl_communicator.h"
#include "src/comm/nccl_settings.h"

namespace octet {

ControlGroup::ControlGroup() : stream(cpu_device().make_stream()), control(make_mpi_communicator(*stream, "control")) {}

Device& open_device(DeviceType device, const MpiRuntime& mpi, Communicator& control, const NcclSettings& settings) {
  if (settings.ranks_per_gpu > 1 && mpi.rank() == 0) {
    log::warning("nccl.ranks_per_gpu = {}: ranks share GPUs, for tests alone", settings.ranks_per_gpu);
  }
  separate_ranks(mpi.node(), mpi.local_rank(), settings.ranks_per_gpu);
  if (device == DeviceType::cpu) return cpu_device();
  Device* opened = nullptr;
  use_gpu_together(control,
                   [&] { opened = &cuda_device(mpi.local_rank() / static_cast<int>(settings.ranks_per_gpu)); });
  return *opened;
}

namespace {

/// What NCCL reads from the environment, before it makes its first communicator.
void set_up_nccl(const Device& device, const MpiRuntime& mpi, Communicator& control, const NcclSettings& settings) {
  if (device.type() == DeviceType::cpu) return;
  choose_nvls({.multicast = device.has_multicast(),
               .compute_capability = device.compute_capability(),
               .local_size = mpi.local_size()},
              control);
  set_up_nccl_tuner(settings, control, mpi.node());
}

}  // namespace

std::unique_ptr<Communicator> make_world(Stream& stream, const MpiRuntime& mpi, Communicator& control,
                                         const NcclSettings& settings) {
  if (stream.device().type() == DeviceType::cuda) warn_of_scattered_ranks(mpi.node(), control);
  set_up_nccl(stream.device(), mpi, control, settings);
  if (stream.device().type() == DeviceType::cpu) return control.on_stream(stream, "world");
  if (control.size() == 1 && !settings.one_rank_groups) return make_self_communicator(stream, "world");
  return make_nccl_communicator(control.split(0, control.rank(), "world"), stream, settings);
}

}  // namespace octet
