// octet-train: one rank of a training run. `mpiexec -n N octet-train CONFIG.yaml [--section.key VALUE]...`
#include <csignal>
#include <exception>
#include <filesystem>
#include <optional>

#include "jobs/dry_run/dry_run_command.h"
#include "jobs/ranks/library_versions.h"
#include "jobs/ranks/nccl_tuner.h"
#include "jobs/ranks/rank_binding.h"
#include "jobs/ranks/world.h"
#include "jobs/run/command_line.h"
#include "jobs/train/resuming_command.h"
#include "jobs/version.h"
#include "kernels/gemm_timing.h"
#include "src/base/log.h"
#include "src/base/options/yaml_document.h"
#include "src/base/reason.h"
#include "src/base/signal_thread.h"
#include "src/base/size_limit.h"
#include "src/comm/host_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/nccl_process.h"
#include "src/comm/read_together.h"
#include "src/comm/watchdog.h"
#include "src/device/hardware_queues.h"
#include "src/train/options/checks.h"
#include "src/train/options/layout.h"
#include "src/train/options/run_options.h"
#include "src/train/run/run.h"
#include "src/train/run/stop_request.h"
#include "src/train/start/cpu_setup.h"

namespace octet {
namespace {

/// Names the default run directory.
std::string config_name(const CommandLine& command) {
  const std::string& from = command.config_file.empty() ? command.config.model_name : command.config_file;
  return std::filesystem::path(from).stem().string();
}

/// What ranks compute and speak with.
struct Machine {
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

void set_up(Machine& machine, const CommandLine& command, const RunConfig& config, const MpiRuntime& mpi,
            Communicator& hosts) {
  check_plan_file(config, command.origins);
  Device& device = open_device(config.device, mpi, config.nccl);
  // Earlier builds wrote it into every run's config.yaml, so that it is no error.
  const bool serves = config.device == DeviceType::cuda && config.data.document_mask;
  if (hosts.rank() == 0 && !serves && config.cuda.document_attention == DocumentAttention::own) {
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
  if (device.type() == DeviceType::cuda) {
    if (hosts.size() > 1) warn_of_other_libraries(hosts, mpi.node(), library_versions(*machine.stream));
    set_up_nccl_tuner(config.nccl, hosts, mpi.node());
  }
  machine.mesh.emplace(
      make_traced(make_world(*machine.stream, hosts, config.nccl), machine.traces(config).communication,
                  config.train.slow_rank_every > 0 ? &machine.waits : nullptr),
      mesh_shape(config.parallel));
}

int train(const CommandLine& command, const std::vector<std::string>& words, MpiRuntime& mpi, const StopSignal& stop) {
  std::signal(SIGPIPE, SIG_IGN);  // the run goes on where nobody reads its lines any more
  const RunConfig config = laid_out(command.config, mpi.size(), command.origins);
  // What the working folder's name has brought in: no checkpoint could hold it.
  refuse_what_is_no_text(to_yaml(config), "the configuration with the folders of its paths");
  log::info("{} rank(s) on {} per node, node {}", mpi.size(), mpi.local_size(), mpi.node());

  const auto host_stream = cpu_device().make_stream();
  auto hosts = make_mpi_communicator(*host_stream, "control");
  Communicator& all_hosts = *hosts;
  const Binding binding = bind_rank(config.cpu, config.device, config.nccl, mpi, all_hosts);
  log::info("{}", set_up_cpu(config.cpu, binding.ranks_on_same_cores));
  // Before what takes long, and after it ends: a second start is refused at once.
  const OwnedDirectory directory = claim_run_directory(config, config_name(command), all_hosts);
  log::info("cores: {}", binding.line);
  FailureStatus failure(directory.run, all_hosts);
  Machine machine;
  std::unique_ptr<Communicator> control;
  const FailureContext context{
      .control = all_hosts, .lease = directory.lease.get(), .on_gpu = config.device == DeviceType::cuda};
  return run_reporting_failure(context, [&] {
    set_up(machine, command, config, mpi, all_hosts);
    control = make_traced(std::move(hosts), machine.traces(config).communication);
    return run_training(config,
                        {.mesh = *machine.mesh,
                         .control = *control,
                         .stream = *machine.stream,
                         .traces = machine.traces(config),
                         .waits = &machine.waits,
                         .ranks_on_node = mpi.local_size(),
                         .node = mpi.node(),
                         .resolved_yaml = to_yaml(config),
                         .directory = directory.run,
                         .lease = directory.lease.get(),
                         .failure = &failure,
                         .bindings = binding.table,
                         .command = resuming_command(words, mpi.size(), config.run_dir, directory.run.path)},
                        stop);
  });
}

/// The command line, read before MPI comes up, whose coming up has a time limit too. What is wrong with it is told when
/// there are ranks, one of which can.
class Command {
 public:
  Command(int argc, char** argv, Watchdog& watchdog) : words_(argv, argv + argc), watchdog_(watchdog) { read(); }
  const CommandLine& get() const {
    if (wrong_) std::rethrow_exception(wrong_);
    return read_;
  }
  /// The words are the same for all ranks. Where only some can read the files that these name, again and again, it is
  /// their hosts' matter and no mistake. Collective.
  void agree() {
    const auto stream = cpu_device().make_stream();
    const auto hosts = make_mpi_communicator(*stream, "command");
    if (largest(wrong_ ? 0 : 1, *hosts) == 0) return;  // a mistake
    std::optional<files::ReadError> unread;
    try {
      files::ReadProgress progress;
      files::with_retries(progress, [this] { reread(); });
    } catch (const files::ReadError& error) {
      unread = error;
    }
    files::agree_on_reading(unread, *hosts, false);
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  void read() {
    std::vector<const char*> words;
    for (const std::string& word : words_) words.push_back(word.c_str());
    wrong_ = nullptr;
    try {
      read_ = parse_command_line(static_cast<int>(words.size()), words.data());
      const CommConfig& comm = read_.config.comm;
      watchdog_.set_limits({.start = comm.start_timeout_seconds,
                            .step = comm.timeout_seconds,
                            .checkpoint = comm.checkpoint_timeout_seconds});
    } catch (...) {
      wrong_ = std::current_exception();
    }
  }
  void reread() {
    if (wrong_) read();
    try {
      get();
    } catch (const Error& error) {
      throw files::ReadError("what the command names", error.what());
    }
  }

  std::vector<std::string> words_;
  Watchdog& watchdog_;
  CommandLine read_;
  std::exception_ptr wrong_;
};

int run(Command& read, MpiRuntime& mpi, const StopSignal& stop) {
  read.agree();
  const CommandLine& command = read.get();
  if (command.action != CommandLine::Action::run) {
    if (mpi.rank() == 0) fmt::print("{}", answer(command));
    return log::after_output(0);
  }
  return train(command, read.words(), mpi, stop);
}

int main_of(int argc, char** argv) {
  SignalThread signals;  // before there are other threads
  const std::vector<std::string> words(argv, argv + argc);
  if (asks_for_version(words) || asks_for_dry_run(words)) {
    signals.take_user_signal();
    if (asks_for_dry_run(words)) return dry_run_main(words);
    fmt::print("{}", version_text("octet-train"));
    return log::after_output(0);
  }
  // Requests count from here on and until the process is gone, which MPI's end and the libraries' can delay.
  static const auto& stop = *new StopSignal;
  Watchdog watchdog;  // lives until MPI has ended
  Command command(argc, argv, watchdog);
  return run_main(argc, argv, [&](MpiRuntime& mpi, int, char**) {
    stop.install_again();
    signals.take_user_signal();
    return run(command, mpi, stop);
  });
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  octet::take_size_limits_as_errors();
  octet::prepare_process_for_nccl();
  octet::ask_for_hardware_queues();  // in the environment, before there are threads and MPI, which may start CUDA
  return octet::end_with_reason("octet-train", [&] { return octet::main_of(argc, argv); });
}
