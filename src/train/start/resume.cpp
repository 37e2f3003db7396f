#include "src/train/start/resume.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "checkpoints/restore/restore.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/printable.h"
#include "src/base/seconds_since.h"
#include "src/comm/operation.h"
#include "src/data/data_stages.h"
#include "src/run_config/resume/data_history.h"
#include "src/run_config/resume/schedule_extensions.h"
#include "src/run_config/resume/setting_changes.h"
#include "src/train/start/initial_weights.h"
#include "src/train/step/model_state.h"

namespace octet {
namespace {

/// Later checkpoints that were found damaged get another name, so that no later start takes them: the steps after this
/// one are done again. Nothing is removed.
void set_aside(const std::vector<std::string>& damaged, const RunDirectory& run, std::int64_t step,
               const Communicator& control) {
  if (control.rank() != 0) return;
  run.owner.verify();
  for (const std::string& path : damaged) {
    std::string aside = checkpoint::name_aside(path);
    for (int i = 2; std::filesystem::exists(aside); ++i) aside = checkpoint::name_aside(path, i);
    std::error_code error;
    std::filesystem::rename(path, aside, error);
    if (error) throw internal_error("train", "{}: cannot be renamed to {}: {}", path, aside, error.message());
    log::warning("{} is kept as {}; the run goes on from step {}", path, aside, step);
  }
}

/// Seed and data, which decide what the next step sees; a checkpoint of no step has seen none. The data are those of
/// `then`, the checkpoint's settings, wherever they stand now.
void check_data(const checkpoint::RunState& state, const RunConfig& then, const RunConfig& config,
                const Sampler& sampler, const std::string& directory) {
  if (state.step == 0) return;
  if (state.seed != config.seed) {
    throw usage_error("train", "{}: run.seed = {} there, {} now; the run can only go on with the same", directory,
                      state.seed, config.seed);
  }
  const std::uint64_t fingerprint = sampler.fingerprint_of(then.data);
  if (state.data_fingerprint != fingerprint) {
    std::vector<std::string> paths;
    for (const DataSource& source : config.data.train) paths.push_back(source.path);
    throw usage_error("train",
                      "{}: the data are not the same: fingerprint {:016x} there, {:016x} now, of data.train = {} "
                      "(files, weights) and its order; the run can only go on with the same",
                      directory, state.data_fingerprint, fingerprint, joined(paths));
  }
}

/// Whether two texts are one path: "./hf/" is "hf".
bool is_same_path(const std::string& a, const std::string& b) {
  const auto plain = [](const std::string& text) { return (std::filesystem::path(text) / "").lexically_normal(); };
  return plain(a) == plain(b);
}

/// Where the weights of a run came from stays what its checkpoint says, whatever init.from says now: that is not read.
/// A chain of jobs passes the same again and again. Of a checkpoint of no step the given one may be meant.
void keep_origin(RunConfig& config, const checkpoint::RunState& state, const std::string& directory) {
  RunConfig blank = config;
  blank.init.from.clear();
  const std::string given = std::exchange(config.init.from, stored_config(state.config, directory, blank).init.from);
  const std::string& there = config.init.from;
  if (given.empty() || is_same_path(given, there)) return;
  const char* const shown = there.empty() ? "\"\"" : there.c_str();
  if (state.step == 0) {
    throw usage_error(
        "train",
        "{}: is a checkpoint of step 0, with weights of its own (init.from = {} there, {} now); leave out "
        "init.from to begin with it, or choose another run.dir to begin with {}",
        directory, shown, given, given);
  }
  if (log::rank() == 0) {
    log::warning("init.from = {} is not read: the run goes on from {}, and init.from = {} stays, as it says there",
                 given, directory, shown);
  }
}

/// The data go on as the run began with them; sources that are new come in here.
void go_on_with_data(RunConfig& config, const checkpoint::RunState& state, const Sampler& sampler,
                     const std::string& directory) {
  const RunConfig then = stored_config(state.config, directory, config);
  config.data.history = data_history_after(then, config, state.step, directory);
  check_data(state, then, config, sampler, directory);
  if (config.data.history.order != newest_data_order) {
    log::info("data: their order is of version {}, which the run began with", config.data.history.order);
  }
  if (log::rank() != 0) return;
  for (const AddedSource& added : config.data.history.added) {
    if (added.after != state.step || static_cast<std::size_t>(added.source) < then.data.train.size()) continue;
    log::warning(
        "checkpoint.allow_changes: data.train: {} is added from step {} on, to the training and to the validation: "
        "from there on the results differ from those of the run without it",
        config.data.train[static_cast<std::size_t>(added.source)].path, state.step + 1);
  }
}

/// Steps that were added, now or before, are in the schedule from here on.
void extend_schedule(RunConfig& config, const checkpoint::RunState& state, const std::string& directory) {
  const RunConfig then = stored_config(state.config, directory, config);
  config.schedule.extensions = extensions_after(then, config, state.step, directory);
  const auto before = then.schedule.extensions.size(), after = config.schedule.extensions.size();
  if (after == 0 && then.train.steps == config.train.steps) return;
  log::info("learning rate{}: {}", after > before ? ", extended by schedule.extend" : "",
            schedule_text(config.schedule, config.train.steps));
}

/// Whether a recipe's state means the same under the settings now.
bool keeps_recipe(const std::vector<SettingChange>& changes) {
  return std::ranges::none_of(changes, [](const SettingChange& c) {
    return c.key == "precision" || c.key == "float8.recipe" || c.key == "float8.delayed_history" ||
           c.key == "float8.filter_small_kn" || c.key.starts_with("float8.bf16_");
  });
}

}  // namespace

StartingPoint resume(RunConfig& config, const RankContext& context, const RunDirectory& run, Trainer& trainer) {
  if (!run.resumes) {
    check_changes(config.data);
    const RunPhaseScope phase(RunPhase::checkpoint);
    load_initial_weights(config, context, trainer);
    return {};
  }
  const RunPhaseScope phase(RunPhase::checkpoint);
  const auto start = std::chrono::steady_clock::now();
  Communicator& control = context.control;
  const auto found = checkpoint::find_newest_valid(run.checkpoints(), control);
  if (!found) throw usage_error("train", "{}: its checkpoints are gone", run.checkpoints());
  const checkpoint::RunState& state = found->manifest.state;

  keep_origin(config, state, found->directory);
  std::vector<std::string> unknown;
  const auto changes = check_settings(state.config, found->directory, config, unknown);
  go_on_with_data(config, state, trainer.sampler(), found->directory);
  check_length(state.step, config, found->directory);
  extend_schedule(config, state, found->directory);
  trainer.go_on_with(config.data.history, config.schedule);
  const auto reading = std::chrono::steady_clock::now();
  load_state(trainer.model(), found->directory, found->manifest, context.stream, keeps_recipe(changes), &control);
  set_aside(found->damaged, run, state.step, control);
  control.barrier();  // no rank begins a step, with its shorter deadline, while another still reads
  const double read_seconds = seconds_since(reading);

  // A checkpoint of no step, as an import makes it, has weights and no loss.
  const std::string loss = state.step == 0 ? "" : fmt::format(", loss {:.4f}", state.loss);
  log::info("{} {}: step {}{}, written by {} as {}, read in {:.2f} s", state.step == 0 ? "begins with" : "resumed from",
            found->directory, state.step, loss, readable(state.program), readable(state.layout), seconds_since(start));
  log::info("checkpoint of step {} by phase: {:.3f} s choice, {:.3f} s hash, {:.3f} s read (each of the slowest rank)",
            state.step, found->choose_seconds, found->hash_seconds, read_seconds);
  const std::string now = layout_text(context.mesh.shape());
  if (state.layout != now) log::info("layout: {} there, {} now", readable(state.layout), now);
  log_changes(changes, unknown, found->directory);
  return {.step = state.step, .checkpoint = found->directory, .verdicts = found->verdicts};
}

}  // namespace octet
