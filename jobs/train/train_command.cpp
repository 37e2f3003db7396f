#include "jobs/train/train_command.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "jobs/ranks/launch_order.h"
#include "jobs/ranks/library_versions.h"
#include "jobs/ranks/rank_binding.h"
#include "jobs/ranks/world.h"
#include "jobs/train/resuming_command.h"
#include "src/base/log.h"
#include "src/base/options/yaml_document.h"
#include "src/run_config/checks/checks.h"
#include "src/run_config/checks/layout.h"
#include "src/run_config/options/run_options.h"
#include "src/train/run/run.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

/// Names the default run directory.
std::string config_name(const CommandLine& command) {
  const std::string& from = command.config_file.empty() ? command.config.model_name : command.config_file;
  return std::filesystem::path(from).stem().string();
}

/// What ranks compute and speak with.
struct RankMachine {
  std::unique_ptr<Stream> stream;
  CommTrace communication;
  GemmTrace gemms;
  std::unique_ptr<Timeline> timeline;
  WaitMeter waits;
  std::optional<Mesh> mesh;

  Traces traces(const RunConfig& config) {
    if (config.comm.trace) return {&communication, &gemms, timeline.get()};
    return {.timeline = timeline.get()};
  }
};

/// With PXN (see there in NCCL's guide to buffer registration), NCCL may send through the card of another GPU, with
/// which these buffers are not registered. Called when NCCL has made its world, since it has then read its files of
/// settings into the environment.
void warn_of_pxn(const RunConfig& config, const MpiRuntime& mpi) {
  const char* disabled = std::getenv("NCCL_PXN_DISABLE");
  const bool is_off = disabled != nullptr && std::strtoll(disabled, nullptr, 0) != 0;
  const bool crosses_nodes = config.parallel.dp_shard * config.parallel.tp > mpi.local_size();
  if (mpi.rank() != 0 || is_off || !crosses_nodes || config.nccl.dp_shard.buffers != NcclBuffers::registered) return;
  log::warning(
      "nccl.dp_shard_buffers = registered: NCCL does not register them with the network, since NCCL_PXN_DISABLE is "
      "not 1 (docs/cuda-backend.md)");
}

void set_up(RankMachine& machine, const CommandLine& command, const RunConfig& config, const MpiRuntime& mpi,
            Communicator& control) {
  check_algorithm_file(config, command.origins);
  Device& device = open_device(config.device, mpi, control, config.nccl);
  // Earlier builds wrote it into every run's config.yaml, so that it is no error.
  const bool serves = config.device == DeviceType::cuda && config.data.document_mask;
  if (control.rank() == 0 && !serves && config.cuda.document_attention == DocumentAttention::own) {
    log::warning("cuda.document_attention = own has no effect without device = cuda and data.document_mask = true");
  }
  if (device.type() == DeviceType::cuda) {
    log::info("{}", device.description());
    check_gpu(config, device.compute_capability(), command.origins);
    set_cuda_settings(config.cuda);
  }
  machine.stream = device.make_stream();
  // Before what times itself in it: communicators and the model.
  if (config.train.profile != "off") machine.timeline = std::make_unique<Timeline>(*machine.stream);
  warn_of_other_libraries(*machine.stream, mpi, control);
  machine.mesh.emplace(
      make_traced(make_world(*machine.stream, mpi, control, config.nccl), machine.traces(config).communication,
                  config.train.slow_rank_every > 0 ? &machine.waits : nullptr),
      mesh_shape(config.parallel));
  if (device.type() == DeviceType::cuda) warn_of_pxn(config, mpi);
  if (mpi.rank() == 0 && exchanges_on_several_streams(config)) warn_of_launch_order();
}

}  // namespace

int train_rank(const CommandLine& command, const std::vector<std::string>& words, MpiRuntime& mpi,
               const StopSignal& stop) {
  std::signal(SIGPIPE, SIG_IGN);  // the run goes on where nobody reads its lines any more
  const RunConfig config = laid_out(command.config, mpi.size(), command.origins);
  // Paths now have the name of the working folder in them; if that is no UTF-8, no checkpoint could store them.
  refuse_what_is_no_text(to_yaml(config), "the configuration with the folders of its paths");
  log::info("{} rank(s) on {} per node, node {}", mpi.size(), mpi.local_size(), mpi.node());

  ControlGroup group;
  Communicator& control = *group.control;
  const Binding binding = bind_rank(config.cpu, config.device, config.nccl, mpi, control);
  log::info("{}", binding.cpu);
  // Made before all that takes long, and destroyed after it: so a second start is refused at once.
  const OwnedDirectory directory = claim_run_directory(config, config_name(command), control);
  log::info("cores: {}", binding.line);
  FailureStatus failure(directory.run, control, config.train.steps);
  RankMachine machine;
  std::unique_ptr<Communicator> traced_control;
  const FailureContext context{
      .control = control, .lease = directory.lease.get(), .on_gpu = config.device == DeviceType::cuda};
  return run_reporting_failure(context, [&] {
    set_up(machine, command, config, mpi, control);
    traced_control = make_traced(std::move(group.control), machine.traces(config).communication);
    return run_training(config,
                        {.mesh = *machine.mesh,
                         .control = *traced_control,
                         .stream = *machine.stream,
                         .traces = machine.traces(config),
                         .waits = &machine.waits,
                         .ranks_on_node = mpi.local_size(),
                         .node = mpi.node(),
                         .resolved_yaml = to_yaml(config),
                         .directory = directory.run,
                         .lease = directory.lease.get(),
                         .bindings = binding.table,
                         .command = resuming_command(words, mpi.size(), config.run_dir, directory.run.path)},
                        failure, stop);
  });
}

}  // namespace octet
