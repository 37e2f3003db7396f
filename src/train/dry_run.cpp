#include "src/train/dry_run.h"

#include "src/comm/dry_communicator.h"

namespace octet {
namespace {

std::unique_ptr<Communicator> world_of(const RunConfig& config, const MeshShape& mesh, int rank, Stream& stream) {
  const auto registered = [&config](std::string_view group) {
    return config.nccl.of(group).buffers != NcclGroupSettings().buffers;
  };
  return make_dry_communicator(
      {.shape = mesh, .rank = rank, .keeps_memory = registered, .one_rank_groups = config.parallel.one_rank_exchange},
      stream);
}

}  // namespace

DryRun::DryRun(const RunConfig& config, const MeshShape& mesh, int rank, DeviceType kernels, WorkLog* log)
    : config_(config),
      device_(make_dry_device(kernels, log)),
      stream_(device_->make_stream()),
      mesh_(make_traced(world_of(config_, mesh, rank, *stream_), &trace_), mesh),
      batches_(config.train.global_batch, config.train.seq_len),
      trainer_(config_, batches_, mesh_, mesh_.world(), *stream_, &gemms_) {}

void DryRun::step() {
  trainer_.launch(++steps_);
  trainer_.collect();
}

}  // namespace octet
