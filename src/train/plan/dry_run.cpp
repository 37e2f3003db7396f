#include "src/train/plan/dry_run.h"

#include <algorithm>

namespace octet {
namespace {

std::unique_ptr<Communicator> world_of(const RunConfig& config, const MeshShape& mesh, int rank, Stream& stream,
                                       std::vector<DryGroup>& made) {
  const auto registered = [&config](std::string_view group) {
    return config.nccl.of(group).buffers != NcclGroupSettings().buffers;
  };
  const auto alike = [&config](std::string_view a, std::string_view b) {
    return config.nccl.of(a) == config.nccl.of(b);
  };
  return make_dry_communicator({.shape = mesh,
                                .rank = rank,
                                .keeps_memory = registered,
                                .one_rank_groups = config.parallel.one_rank_exchange,
                                .alike = alike,
                                .made = &made,
                                .in_rank_order = config.device == DeviceType::cpu},
                               stream);
}

/// Without graphs: each piece of work is logged where the device is given it, not where a list of pieces is replayed.
RunConfig in_pieces(RunConfig config) {
  config.graphs = AutoBool::no;
  return config;
}

std::unique_ptr<Stream> make_model_stream(Device& device, WorkLog* log) {
  auto stream = device.make_stream();
  if (log != nullptr) log->set_model_stream(*stream);
  return stream;
}

}  // namespace

DryRun::DryRun(const RunConfig& config, const MeshShape& mesh, int rank, DeviceType workspaces, WorkLog* log,
               int multiprocessors)
    : config_(in_pieces(config)),
      device_(make_dry_device(config.device, workspaces, log, multiprocessors)),
      stream_(make_model_stream(*device_, log)),
      mesh_(make_traced(world_of(config_, mesh, rank, *stream_, groups_), &trace_), mesh),
      batches_(config.train.global_batch, config.train.seq_len),
      trainer_(config_, batches_, mesh_, mesh_.world(), *stream_, &gemms_) {}

void DryRun::step() {
  trainer_.launch(++steps_);
  trainer_.collect();
}

void DryRun::second_step(const std::function<void()>& between) {
  step();
  between();
  trace_.clear();
  step();
}

RunConfig with_two_micro_batches(const RunConfig& config, const MeshShape& mesh) {
  if (mesh.pp > 1) return config;
  RunConfig few = config;
  const std::int64_t at_once = config.train.micro_batch * mesh.dp_replicate * mesh.dp_shard;
  few.train.global_batch = std::min(config.train.global_batch, 2 * at_once);
  return few;
}

}  // namespace octet
