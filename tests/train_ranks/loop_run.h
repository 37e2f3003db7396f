#pragma once

#include <string>
#include <utility>

#include "src/comm/mesh.h"
#include "src/train/run/loop.h"
#include "src/train/start/run_directory.h"
#include "tests/support/sampler_of.h"

namespace octet {

/// A run from its trainer on, as run_training puts it together, in a new run.dir of the configuration.
struct LoopRun {
  /// Collective. What is passed outlives it.
  LoopRun(const RunConfig& run_config, Mesh& mesh, Communicator& control, Stream& stream, std::string node = "node")
      : config(run_config),
        context{.mesh = mesh,
                .control = control,
                .stream = stream,
                .traces = {},
                .ranks_on_node = 1,
                .node = std::move(node),
                .resolved_yaml = ""},
        trainer(config, test::sampler_of(config), mesh, control, stream, nullptr),
        directory(make_directory(config.run_dir, control)),
        log(config, context, directory),
        checkpoints(config, context, trainer, log, {}),
        profiler(config, context, directory, 0),
        failure(directory, control, config.train.steps) {
    log.begin();
    log.open();
  }

  /// Returns the exit code. `until`: as train.max_wall_time has it.
  int train(const WallClock& until = WallClock(0)) {
    return train_steps({.config = config,
                        .context = context,
                        .trainer = trainer,
                        .log = log,
                        .checkpoints = checkpoints,
                        .profiler = profiler,
                        .stop = StopRequest(signal, until, ""),
                        .failure = failure,
                        .plan = {}});
  }

  static RunDirectory make_directory(const std::string& path, const Communicator& control) {
    RunDirectory made{.path = path};
    write_run_directory(made, "", {}, control);
    return made;
  }

  const RunConfig& config;
  RankContext context;
  Trainer trainer;
  RunDirectory directory;
  RunLog log;
  StopSignal signal{};
  Checkpointing checkpoints;
  Profiler profiler;
  FailureStatus failure;
};

}  // namespace octet
