#include "jobs/octet/job/outcome.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "jobs/octet/job/facts.h"
#include "jobs/octet/submit/last_lines.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/utc_now.h"
#include "src/cluster/host_list.h"
#include "src/metrics/status.h"
#include "src/owner/owner_file.h"
#include "src/owner/told_to_end.h"

namespace octet {
namespace {

std::string status_of(const std::string& run_dir) {
  return run_dir + "/status.json";
}

/// What the ranks of a job leave: a job that was refused the directory must not speak for the one that has it.
std::string failure_of(const std::string& run_dir, const std::string& job) {
  return fmt::format("{}/job/failure-{}.txt", run_dir, job);
}

/// The same of a script that an older version wrote.
std::string shared_failure_of(const std::string& run_dir) {
  return run_dir + "/job/failure.txt";
}

/// "CODE MESSAGE" of the first rank of a job that failed.
void read_failure(const std::string& run_dir, const std::string& job, RunStatus& status) {
  auto left = read_text_file(failure_of(run_dir, job));
  if (!left) left = read_text_file(shared_failure_of(run_dir));
  std::istringstream text(left.value_or(""));
  int code = 0;
  std::string reason;
  if (text >> code && std::getline(text >> std::ws, reason)) {
    status.exit_code = code;
    status.reason = reason;
  }
}

std::string owner_name(const std::string& run_dir) {
  const auto owner = read_owner(run_dir);
  return owner ? owner->name : "";
}

/// "2026-11-27 12:00:00 E TEXT", as src/base/log.h writes errors, or "E [rank 3 HOST] TEXT" of a process that hung.
/// Older versions write no date.
bool is_error(const std::string& line) {
  const std::size_t time = line.find_first_not_of("0123456789-: ");
  if (time == std::string::npos) return false;
  return line.find(':') < time ? line.compare(time - 1, 3, " E ") == 0 : line.starts_with("E [rank ");
}

/// "Abort(741985807) on node 1 (rank 1 in comm 0): Fatal error in internal_Init: ...", by which MPICH ends a rank of
/// its own accord, and not where Octet asked it to.
bool is_abort_of_mpi(const std::string& line) {
  const auto has = [&](const char* text) { return line.find(text) != std::string::npos; };
  return (has("Fatal error in") || has("Abort(")) && !has("application called MPI_Abort");
}

/// Of what the launcher and the ranks said: one line on nodes, MPI's first on why it ended, and the last error. A rank
/// whose reason fits into no file, since the disk is full, has told it there; so has one whose MPI did not start.
std::string last_words(const std::string& said) {
  std::istringstream text(read_text_file(said).value_or(""));
  std::string line, of_nodes, of_mpi, error;
  while (std::getline(text, line)) {
    if (is_error(line)) error = "; the last error in the log: " + line;
    if (of_mpi.empty() && is_abort_of_mpi(line)) of_mpi = "; MPI ended it: " + line;
    if (line.find("srun: error:") == std::string::npos) continue;
    if (of_nodes.empty() || line.find("Node failure") != std::string::npos) of_nodes = "; " + line;
  }
  return of_nodes + of_mpi + error;
}

RunStatus completed(RunStatus status, const std::string& run_dir, const std::string& job,
                    const std::string& launcher_code, const std::string& said) {
  // What a run that goes on leaves there has the step of its last save.
  if (status.state == "running") status.step = std::max(status.step, submit::last_logged_step(run_dir));
  status.state = "failed";
  status.exit_code = static_cast<int>(ExitCode::lost_peer);
  constexpr const char* no_words =
      "no rank could say why: rank 0 ended before MPI was up, or was killed, or its node was lost";
  status.reason = no_words;
  if (!launcher_code.empty()) status.reason += fmt::format(" (the launcher ended with {})", launcher_code);
  status.reason += last_words(said);
  read_failure(run_dir, job, status);
  // A lost peer is what the kill of a job looks like; with any other code a rank has said what was wrong.
  const auto told = told_to_end(run_dir, job);
  if (told && status.exit_code == static_cast<int>(ExitCode::lost_peer)) {
    const std::string after_it = status.reason == no_words ? "" : "; " + status.reason;
    status.state = "stopped";
    status.exit_code = static_cast<int>(status.checkpoint.empty() ? ExitCode::terminated : ExitCode::resumable);
    status.reason = killed_unsaved(told->text, status.checkpoint) + after_it;
  }
  return status;
}

}  // namespace

LaunchRecord begin_launch(const std::string& run_dir, const std::string& job, const std::string& hosts) {
  std::error_code ignored;
  for (const std::string& file : {failure_of(run_dir, job), shared_failure_of(run_dir)}) {
    std::filesystem::remove(file, ignored);
  }
  const RunStatus status = read_status(status_of(run_dir)).value_or(RunStatus{});
  return {.launch = {.job = job, .checkpoint = within_run(status.checkpoint)},
          .hosts = hosts,
          .began = utc_now(),
          .status_before = read_text_file(status_of(run_dir), longest_status).value_or(""),
          .owner_before = owner_name(run_dir)};
}

LaunchRecord not_begun(const std::string& run_dir, const std::string& job, const JobDecision& decision) {
  const RunStatus status = read_status(status_of(run_dir)).value_or(RunStatus{});
  return {.launch = {.job = job, .checkpoint = within_run(status.checkpoint), .reason = decision.reason},
          .hosts = compress_hosts(decision.exclude),
          .began = utc_now(),
          .ended = utc_now(),
          .checkpoint_after = within_run(status.checkpoint),
          .action = std::string(name_of(decision.action))};
}

void end_launch(LaunchRecord& record, const std::string& run_dir, const std::string& launcher_code,
                const std::string& said) {
  RunStatus status = read_status(status_of(run_dir)).value_or(RunStatus{});
  const bool silent = status.state.empty() || status.state == "running";
  if (silent || read_text_file(status_of(run_dir), longest_status).value_or("") == record.status_before) {
    status = completed(status, run_dir, record.launch.job, launcher_code, said);
    write_status(status_of(run_dir), status);
  }
  record.launch.state = status.state;
  record.launch.reason = status.reason;
  record.launch.exit_code = status.exit_code;
  record.checkpoint_after = within_run(status.checkpoint);
  record.ended = utc_now();
}

std::optional<OwnerRecord> owner_since(const LaunchRecord& record, const std::string& run_dir) {
  const auto owner = read_owner(run_dir);
  const bool is_new = owner && record.owner_before && *record.owner_before != owner->name;
  return is_new && owner->job.id != record.launch.job ? owner : std::nullopt;
}

void end_refused(LaunchRecord& record, const std::string& run_dir, const std::string& reason) {
  const RunStatus status = read_status(status_of(run_dir)).value_or(RunStatus{});
  record.launch.state = "failed";
  record.launch.reason = reason;
  record.launch.exit_code = static_cast<int>(ExitCode::usage);
  record.checkpoint_after = within_run(status.checkpoint);
  record.ended = utc_now();
  record.action = name_of(JobAction::stop);
}

void end_unstarted(LaunchRecord& record, const std::string& run_dir, bool terminated) {
  record.launch.state = "stopped";
  record.launch.reason = terminated ? "SIGTERM" : "SIGUSR1";
  record.launch.exit_code = static_cast<int>(ExitCode::resumable);
  record.checkpoint_after = within_run(read_status(status_of(run_dir)).value_or(RunStatus{}).checkpoint);
  record.ended = utc_now();
}

bool is_finished(const std::string& run_dir, std::int64_t steps) {
  const RunStatus status = read_status(status_of(run_dir)).value_or(RunStatus{});
  return status.state == "finished" && status.step >= steps;
}

double checkpoint_seconds(const std::string& run_dir) {
  return read_status(status_of(run_dir)).value_or(RunStatus{}).checkpoint_seconds;
}

std::string reason_of_end(const JobDecision& decision, const std::string& of_launch) {
  const bool holds = decision.reason.find(of_launch) != std::string::npos;  // nothing, too
  return holds ? decision.reason : decision.reason + "; " + of_launch;
}

void note_end(const std::string& run_dir, const JobDecision& decision) {
  if (decision.action != JobAction::stop) return;
  RunStatus status = read_status(status_of(run_dir)).value_or(RunStatus{"", "", static_cast<int>(ExitCode::internal)});
  if (status.state.empty() || status.state == "running") status.state = "failed";
  status.reason = reason_of_end(decision, status.reason);
  write_status(status_of(run_dir), status);
}

}  // namespace octet
