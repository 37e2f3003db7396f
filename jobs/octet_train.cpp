// octet-train: one rank of a training run. `mpiexec -n N octet-train CONFIG.yaml [--section.key VALUE]...`
#include <exception>
#include <filesystem>
#include <optional>

#include "checkpoints/read_together.h"
#include "jobs/train/command_line.h"
#include "jobs/train/nccl_tuner.h"
#include "jobs/train/resuming_command.h"
#include "jobs/train/world.h"
#include "src/base/log.h"
#include "src/comm/host_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/watchdog.h"
#include "src/train/cpu_setup.h"
#include "src/train/plan_run.h"
#include "src/train/run.h"
#include "src/train/schema.h"
#include "src/train/validate.h"

namespace octet {
namespace {

/// Names the default run directory.
std::string config_name(const CommandLine& command) {
  const std::string& from = command.config_file.empty() ? command.config.model_name : command.config_file;
  return std::filesystem::path(from).stem().string();
}

int train(const CommandLine& command, const std::vector<std::string>& words, MpiRuntime& mpi) {
  RunConfig config = command.config;
  config.parallel = resolve_layout(config, mpi.size(), command.origins);
  config.nccl.one_rank_groups = config.parallel.one_rank_exchange;
  log::info("{} rank(s) on {} per node, node {}", mpi.size(), mpi.local_size(), mpi.node());
  log::info("{}", set_up_cpu(config.cpu, mpi.ranks_on_same_cores()));

  const auto host_stream = cpu_device().make_stream();
  auto hosts = make_mpi_communicator(*host_stream, "control");
  // Before what takes long, and after it ends: a second start is refused at once.
  const OwnedDirectory directory = claim_run_directory(config, config_name(command), *hosts);
  Device& device = open_device(config.device, mpi, config.nccl);
  if (device.type() == DeviceType::cuda) {
    log::info("{}", device.description());
    set_cuda_settings(config.cuda);
  }
  const auto stream = device.make_stream();
  CommTrace communication;
  GemmTrace gemms;
  // Before what times itself in it: communicators and the model.
  const auto timeline = config.train.profile == "off" ? nullptr : std::make_unique<Timeline>(*stream);
  const Traces traces =
      config.comm.trace ? Traces{&communication, &gemms, timeline.get()} : Traces{.timeline = timeline.get()};
  if (device.type() == DeviceType::cuda) set_up_nccl_tuner(config.nccl, *hosts, mpi.node());
  WaitMeter waits;
  Mesh mesh(make_traced(make_world(*stream, *hosts, config.nccl), traces.communication,
                        config.train.slow_rank_every > 0 ? &waits : nullptr),
            mesh_shape(config.parallel));
  const auto control = make_traced(std::move(hosts), traces.communication);
  return run_training(config, {.mesh = mesh,
                               .control = *control,
                               .stream = *stream,
                               .traces = traces,
                               .waits = &waits,
                               .ranks_on_node = mpi.local_size(),
                               .node = mpi.node(),
                               .resolved_yaml = to_yaml(config),
                               .directory = directory.run,
                               .lease = directory.lease.get(),
                               .command = resuming_command(words, mpi.size(), config.run_dir, directory.run.path)});
}

/// The command line, read before MPI comes up, whose coming up has a time limit too. What is wrong with it is told when
/// there are ranks, one of which can.
class Command {
 public:
  Command(int argc, char** argv, Watchdog& watchdog) : words_(argv, argv + argc) {
    try {
      read_ = parse_command_line(argc, argv);
      const CommConfig& comm = read_.config.comm;
      watchdog.set_limits({.start = comm.start_timeout_seconds,
                           .step = comm.timeout_seconds,
                           .checkpoint = comm.checkpoint_timeout_seconds});
    } catch (...) {
      wrong_ = std::current_exception();
    }
  }
  const CommandLine& get() const {
    if (wrong_) std::rethrow_exception(wrong_);
    return read_;
  }
  /// The words are the same for all ranks. Where only some can read the files that these name, it is their hosts'
  /// matter and no mistake. Collective.
  void agree() const {
    const auto stream = cpu_device().make_stream();
    const auto hosts = make_mpi_communicator(*stream, "command");
    if (largest(wrong_ ? 0 : 1, *hosts) == 0) return;  // a mistake
    std::optional<checkpoint::ReadError> mine;
    try {
      get();
    } catch (const Error& error) {
      mine.emplace("what the command names", error.what());
    }
    checkpoint::agree_on_reading(mine, *hosts, false);
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  CommandLine read_;
  std::exception_ptr wrong_;
};

int run(const Command& read, MpiRuntime& mpi) {
  read.agree();
  const CommandLine& command = read.get();
  if (command.action != CommandLine::Action::run) {
    if (mpi.rank() == 0) fmt::print("{}", answer(command));
    return 0;
  }
  return train(command, read.words(), mpi);
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  octet::Watchdog watchdog;  // lives until MPI has ended
  const octet::Command command(argc, argv, watchdog);
  return octet::run_main(argc, argv, [&](octet::MpiRuntime& mpi, int, char**) { return octet::run(command, mpi); });
}
