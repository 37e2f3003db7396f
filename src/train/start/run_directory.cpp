#include "src/train/start/run_directory.h"
#include "src/comm/look_together.h"

#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

#include "checkpoints/format/durable.h"
#include "checkpoints/restore/restore.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/read_file.h"
#include "src/base/replace_file.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"
#include "src/comm/read_together.h"
#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "src/run_config/options/model_file.h"
#include "src/run_config/resume/setting_changes.h"
#include "src/train/start/misplaced_checkpoint.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// The file by which a directory is seen to be that of a run.
const char* sign_of(const RunDirectory& run) {
  return files::is_there(run.metrics()) ? "metrics.jsonl" : "status.json";
}

Error refuse_used(const RunDirectory& run, const char* why) {
  return usage_error("train",
                     "run.dir = {}: holds a run already ({}) and no checkpoint from which it could go on; "
                     "{}; choose another directory (docs/problems.md, \"The run directory holds a run\")",
                     run.path, sign_of(run), why);
}

/// A start that ended before its first checkpoint is begun again when it was of this run: a job that is requeued must
/// not stop for ever there, and nobody may lose another run, or a result, that way.
void check_begins_again(const RunDirectory& run, const RunConfig& config) {
  const auto status = read_status(run.status());
  if (status && status->state == "finished") throw refuse_used(run, "it is finished");
  if (!status && files::is_there(run.status())) {
    throw refuse_used(run, "its status.json cannot be read, so that it may be finished");
  }
  if (status && !status->checkpoint.empty()) {  // a file system that is not there today, for one
    throw usage_error("train",
                      "run.dir = {}: status.json names {}, but there is no checkpoint in {}; bring it back, or choose "
                      "another directory",
                      run.path, status->checkpoint, run.checkpoints());
  }
  const std::optional<std::string> text = read_text_file(run.config());
  if (!text) throw refuse_used(run, "there is no config.yaml that says which");
  std::vector<std::string> unknown;
  const auto changes = check_settings(*text, run.config(), config, unknown);
  for (const SettingChange& c : changes) {  // what these name is in checkpoints alone
    if (c.key != "model" && c.key != "init.from") continue;
    throw usage_error("train", "{}: {} = {} there, {} now; the run can only begin again with the same", run.config(),
                      c.key, c.then, c.now);
  }
  log::warning(
      "run.dir = {}: an earlier start of this run ended before its first checkpoint; BEGINNING AGAIN AT STEP 0",
      run.path);
  log_changes(changes, unknown, run.config());
}

/// What the run does with what is in the directory; throws where that is not what checkpoint.resume asks for.
void decide(RunDirectory& run, const RunConfig& config) {
  const Resume resume = config.checkpoint.resume;
  const auto status = read_status(run.status());
  const bool finished = status && status->state == "finished";
  const bool used = files::is_there(run.metrics()) || finished;
  const bool saved = files::is_there(run.checkpoints()) && !checkpoint::list_checkpoints(run.checkpoints()).empty();
  if (resume == Resume::never && (used || saved)) {
    throw usage_error("train",
                      "run.dir = {}: holds a run already ({}); choose another directory{} (docs/problems.md, \"The run "
                      "directory holds a run\")",
                      run.path, used ? sign_of(run) : "checkpoints",
                      saved ? ", or go on with --checkpoint.resume auto" : "");
  }
  if (!saved) refuse_misplaced_checkpoint(run.path, run.checkpoints(), config.init.from);
  if (resume == Resume::must && !saved) {
    throw usage_error("train", "checkpoint.resume = must: there is no checkpoint in {}", run.checkpoints());
  }
  run.resumes = saved;
  run.begins_again = used && !saved;
  if (run.begins_again) check_begins_again(run, config);
}

}  // namespace

std::string default_run_directory(const std::string& config_name) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
  return "runs/" + config_name + "-" + date;
}

namespace {

std::string path_of(const RunConfig& config, const std::string& config_name) {
  return config.run_dir.empty() ? default_run_directory(config_name) : config.run_dir;
}

/// Rank 0 counts: its date, what it sees on a shared file system.
void tell(RunDirectory& run, Communicator& control) {
  run.path = broadcast_bytes(run.path, 0, control);
  run.owner = {.run_dir = run.path, .name = broadcast_bytes(run.owner.name, 0, control)};
  std::int32_t flags[2] = {run.resumes ? 1 : 0, run.begins_again ? 1 : 0};
  control.broadcast(flags, 2, DType::i32, 0);
  run.resumes = flags[0] != 0;
  run.begins_again = flags[1] != 0;
}

/// The lease, on rank 0. It can take a minute, more than a start may stand still (comm.start_timeout_seconds): the
/// others hear from rank 0 meanwhile. Where it throws, they wait for what that ends the job with.
std::unique_ptr<OwnerLease> claim(const std::string& path, Communicator& control) {
  enum Claim : std::int32_t { done, goes_on };
  const OperationScope operation("claim of the run directory");
  if (control.rank() != 0) {
    while (largest(done, control) == goes_on) {
    }
    return nullptr;
  }
  const auto still_watching = [&] {
    const OperationScope look("watch of the run directory's owner");  // of one rank too the heartbeat goes on
    largest(goes_on, control);
  };
  auto lease = std::make_unique<OwnerLease>(path, owner_patience_seconds(), still_watching);
  largest(done, control);
  return lease;
}

/// Why this rank does not see there what rank 0 has written; empty when it does.
std::string blindness(const RunDirectory& run) {
  std::string why;
  const auto look = [&] {
    why.clear();
    try {
      const auto owner = read_owner(run.path);
      if (!owner || owner->name != run.owner.name) {
        why = "what rank 0 has written there is not visible; expected run.dir on a file system that all hosts share";
      }
    } catch (const Error& error) {
      why = error.what();
    }
    if (!why.empty()) throw files::ReadError(owner_path(run.path), why);
  };
  try {
    files::ReadProgress progress;
    files::with_retries(progress, look);
  } catch (const files::ReadError&) {
  }
  return why;
}

/// Every host has to see in the directory what rank 0 has written there. Where no other host does, it is the host of
/// rank 0 that is wrong: it may have a folder of its own in place of a mount. With two hosts, nobody can tell which one
/// it is.
void expect_seen(const RunDirectory& run, Communicator& control) {
  const OperationScope operation("look at the run directory");
  const std::string first = broadcast_bytes(log::host(), 0, control);
  const bool with_first = log::host() == first;
  const std::string why = blindness(run);
  const bool others = largest(with_first ? 0 : 1, control) == 1;
  const bool seen_by_another = largest(!with_first && why.empty() ? 1 : 0, control) == 1;
  std::optional<files::ReadError> unseen;
  if (others && !seen_by_another) {
    const std::string alone = fmt::format(
        "what rank 0 on {} has written there is visible on no other host; expected run.dir on a file system that all "
        "hosts share",
        first);
    const std::vector<std::string> names = gather_bytes(log::host(), control);
    const bool two = std::set(names.begin(), names.end()).size() == 2;
    if (with_first || two) unseen.emplace(owner_path(run.path), alone);
  } else if (!why.empty()) {
    unseen.emplace(owner_path(run.path), why);
  }
  files::agree_on_reading(unseen, control, false);
}

/// A model file, whose head line says how large the model is.
std::string model_text(const ModelConfig& model) {
  return fmt::format("# {} parameters\n{}", grouped(static_cast<double>(model.parameters())), to_yaml(model));
}

}  // namespace

OwnedDirectory claim_run_directory(const RunConfig& config, const std::string& config_name, Communicator& control) {
  OwnedDirectory owned{.run = {.path = broadcast_bytes(path_of(config, config_name), 0, control)}};
  // Rank 0 would make anew what is behind a mount that it does not have, and begin again from nothing.
  const RunDirectory& run = owned.run;
  files::expect_same_files({run.path, run.config(), run.status(), run.metrics(), run.checkpoints()}, control);
  owned.lease = claim(owned.run.path, control);
  if (owned.lease) owned.run.owner = owned.lease->mark();
  files::look_by_first(control, [&] { decide(owned.run, config); });
  tell(owned.run, control);
  expect_seen(owned.run, control);
  return owned;
}

void write_run_directory(const RunDirectory& run, const std::string& resolved_yaml, const ModelConfig& model,
                         const Communicator& control) {
  if (control.rank() != 0) return;
  run.owner.verify();
  try {
    checkpoint::make_directories(run.path);  // what is synced below it later is only there when it is
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("[train] run.dir = {}: cannot be made: {}", run.path, error.what()));
  }
  for (const std::string& file : {run.config(), run.model(), run.status(), run.gemm_plans(), run.attention_plans(),
                                  run.gemm_plans_used(), run.attention_plans_used(), run.bindings()})
    remove_replacements(file);
  // A run that begins again is known by config.yaml, and a resumed one never has half a file, nor after a power
  // failure.
  for (const auto& [file, text] : {std::pair(run.config(), resolved_yaml), {run.model(), model_text(model)}}) {
    if (!replace_file_durably(file, text)) throw not_written("train", "run.dir: " + file);
  }
}

}  // namespace octet
