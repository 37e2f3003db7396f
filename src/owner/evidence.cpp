#include "src/owner/evidence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "src/base/files.h"
#include "src/cluster/machine/run_program.h"
#include "src/cluster/slurm_job.h"
#include "src/owner/owner_file.h"
#include "src/owner/process.h"
#include "src/owner/told_to_end.h"

namespace octet {
namespace {

constexpr double slurm_seconds = 2;  // for each of two questions

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A file and its time.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  double time = 0;
};

/// Opened anew, since a network file system asks its server for the time of a file when that is opened.
std::optional<Stamp> stamp_of(const std::string& file) {
  const FileHandle opened = open_to_read(file.c_str());
  struct stat info {};
  if (!opened || ::fstat(opened.get(), &info) != 0) return std::nullopt;
  return Stamp{info.st_dev, info.st_ino, seconds_of(info.st_mtim)};
}

std::optional<double> time_now_beside(const std::string& file) {
  const std::string probe = file + "." + this_process().name + ".now";
  const FileHandle made = open_to_write(probe.c_str(), O_WRONLY | O_EXCL);
  if (!made) return std::nullopt;
  struct stat info {};
  const bool known = ::futimens(made.get(), nullptr) == 0 && ::fstat(made.get(), &info) == 0;  // null: the server's now
  ::unlink(probe.c_str());
  return known ? std::optional(seconds_of(info.st_mtim)) : std::nullopt;
}

/// The Slurm that answers here may be another's.
bool is_cluster_here(const std::string& cluster) {
  if (cluster.empty()) return true;
  if (const char* mine = std::getenv("SLURM_CLUSTER_NAME")) return cluster == mine;
  const ProgramResult config = run_program({"scontrol", "show", "config"}, slurm_seconds);
  return config.succeeded() && cluster_name(config.out) == cluster;
}

OwnerEvidence look(const OwnerRecord& owner, const std::string& file) {
  OwnerEvidence seen{.age_seconds = age_by_file_server(file)};
  if (!owner.boot_id.empty() && owner.boot_id == boot_id() && owner.pid_namespace == pid_namespace()) {
    const auto process = find_process(owner.pid);
    seen.process_lives = process && process->start_ticks == owner.start_ticks;
  }
  return seen;
}

}  // namespace

std::optional<double> age_by_file_server(const std::string& file) {
  const auto now = time_now_beside(file);
  const auto then = stamp_of(file);
  return now && then ? std::optional(*now - then->time) : std::nullopt;
}

bool is_renewed_within(const std::string& file, double seconds, const std::function<void()>& between_looks) {
  // Looks are counted, not seconds: one may take a minute where a file server fails over.
  const int looks = std::max(20, static_cast<int>(std::ceil(seconds)));
  const std::chrono::duration<double> pause(seconds / looks);
  auto first = stamp_of(file);
  for (int look = 0; look < looks; ++look) {
    std::this_thread::sleep_for(pause);
    if (between_looks) between_looks();
    const auto now = stamp_of(file);
    if (!now) continue;  // it is gone, or cannot be read for a moment
    if (!first) first = now;
    if (now->device != first->device || now->inode != first->inode) return false;
    if (now->time != first->time) return true;
  }
  return false;
}

std::optional<bool> ask_slurm(const JobLaunch& job) {
  if (!is_cluster_here(job.cluster) || !is_job_number(job.id)) return std::nullopt;
  const ProgramResult answer = run_program({"scontrol", "show", "job", job.id}, slurm_seconds);
  if (!answer.found || answer.timed_out) return std::nullopt;
  if (answer.exit_code != 0) {  // Slurm forgets a job minutes after its end
    const bool forgotten = !job.cluster.empty() && answer.err.find("Invalid job id") != std::string::npos;
    return forgotten ? std::optional(true) : std::nullopt;
  }
  const SlurmJob found = parse_slurm_job(answer.out);
  if (!found.known) return std::nullopt;
  return found.over || found.restarts > job.restart;
}

OwnerStanding examine(const OwnerRecord& owner, const std::string& file, const JobLaunch& mine, double patience) {
  if (owner.released) return {owner, OwnerState::released};
  OwnerEvidence seen = look(owner, file);
  if (needs_slurm(owner, mine, seen, patience)) seen.job_over = ask_slurm(owner.job);
  return {owner, judge_owner(owner, mine, seen, patience), seen.age_seconds};
}

std::optional<OwnerStanding> ask_owner(const std::string& run_dir) {
  const auto owner = read_owner(run_dir);
  if (!owner) return std::nullopt;
  OwnerStanding standing = examine(*owner, owner_path(run_dir), {});
  const auto told = standing.gone() ? told_to_end(run_dir, owner->job.id) : std::nullopt;
  if (told) standing.told = told->text;
  return standing;
}

RunStatus believed(RunStatus status, const std::optional<OwnerStanding>& owner) {
  if (!owner || !owner->gone()) return status;
  const bool is_running = status.state == "running", is_before = status.time < owner->owner.since;
  if (owner->told && !owner->owner.released && (is_running || is_before)) {
    status.state = "stopped";
    status.exit_code = static_cast<int>(status.checkpoint.empty() ? ExitCode::terminated : ExitCode::resumable);
    status.reason = killed_unsaved(*owner->told, status.checkpoint);
    return status;
  }
  if (!is_running) return status;
  status.state = "lost";
  status.reason = fmt::format("it could not say why it ended: {}: {}", describe(owner->owner), text_of(owner->state));
  return status;
}

}  // namespace octet
