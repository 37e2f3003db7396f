#include "src/train/run.h"

#include <cerrno>
#include <cstring>

#include "src/base/log.h"
#include "src/base/write_all.h"
#include "src/model/recompute_table.h"
#include "src/train/device_health.h"
#include "src/train/loop.h"
#include "src/train/plan_run.h"
#include "src/train/resume.h"
#include "src/train/run_log.h"
#include "src/train/shared_warnings.h"

namespace octet {
namespace {

void write_trace_file(const Traces& traces, const OwnerMark& owner, const std::string& path) {
  owner.verify();
  std::string text;
  if (traces.communication != nullptr) text += traces.communication->json_lines();
  if (traces.gemms != nullptr) text += traces.gemms->json_lines();
  if (overwrite_text(path, text)) return;
  throw internal_error("train", "{}: cannot be written: {}", path, std::strerror(errno));
}

}  // namespace

int run_training(const RunConfig& config, const RunEnvironment& environment) {
  const StopSignal signal;
  const log::SharedWarnings shared;
  const MeshShape& shape = environment.mesh.shape();
  const std::int64_t communication = environment.mesh.dp_shard().scratch_bytes() +
                                     environment.mesh.dp_replicate().scratch_bytes() +
                                     environment.mesh.tp().scratch_bytes();
  const MemoryPlan plan = plan_run(config, shape, environment.mesh.tp().rank(), communication, environment.stream);
  check_fits(plan, environment.stream.device(), environment.ranks_on_node, static_cast<int>(config.nccl.ranks_per_gpu));

  const std::string recompute =
      recompute_table(llama_settings(config, environment.mesh.tp().rank()), environment.stream);
  Trainer trainer(config, environment.mesh, environment.control, environment.stream, environment.traces.gemms);
  Communicator& control = environment.control;
  const RunDirectory& directory = environment.directory;
  const StartingPoint from = resume(config, environment, directory, trainer);
  write_run_directory(directory, environment.resolved_yaml, control);
  RunLog log(config, environment, directory, from);
  log.start(plan, recompute, trainer);
  const StopRequest stop(signal, WallClock(*parse_wall_time(config.train.max_wall_time)),
                         control.rank() == 0 ? directory.stop_file() : "");
  DeviceHealth health(config.train.health_seconds, environment.stream.device().pci_bus_id());
  report_unwatched(health, control, environment.node);
  std::int64_t done = from.step;
  const auto write_traces = [&] {
    if (config.comm.trace) write_trace_file(environment.traces, directory.owner, directory.trace(control.rank()));
  };
  try {
    Checkpointing checkpoints(config, environment, trainer, log, from);
    Profiler profiler(config, environment, log.directory(), from.step);
    tell_shared_warnings(control);
    const int code = train_steps({.config = config,
                                  .environment = environment,
                                  .trainer = trainer,
                                  .log = log,
                                  .checkpoints = checkpoints,
                                  .profiler = profiler,
                                  .stop = stop,
                                  .plan = plan},
                                 done);
    write_traces();
    return code;
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    log.fail(e.what(), error == nullptr ? ExitCode::internal : error->code(), done);
    write_traces();  // what led here is what one wants to see
    // Taking a device's work apart waits for that work, and what a lost peer has left of it never ends.
    if (environment.stream.device().type() == DeviceType::cuda) {
      health.look_now(2.0);  // an Xid says why CUDA failed
      log::error("{}", e.what());
      environment.control.abort(static_cast<int>(error == nullptr ? ExitCode::internal : error->code()));
    }
    throw;
  }
}

}  // namespace octet
