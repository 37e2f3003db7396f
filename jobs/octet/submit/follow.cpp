#include "jobs/octet/submit/follow.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <initializer_list>

#include "jobs/octet/commands.h"
#include "jobs/octet/submit/program.h"
#include "jobs/octet/submit/standing.h"
#include "jobs/octet/submit/submitted_run.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/cluster/machine/text_lines.h"
#include "src/cluster/slurm_job.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;

std::string ids(const std::vector<JobRecord>& jobs) {
  std::string out;
  for (const JobRecord& job : jobs) out += (out.empty() ? "" : ",") + job.id;
  return out;
}

/// Of a job that has written nothing: neither the queue nor the run directory has its reason.
void print_silent(const std::string& id, const std::string& output, const SlurmJob& job) {
  if (job.cancelled_unbegun) {
    log::out("         {} was cancelled before it began", id);
  } else if (job.failed) {
    log::out("         {} has failed and written nothing (docs/problems.md, \"A job leaves no output\"): {}", id,
             output);
  }
}

/// Jobs that have ended without a word: those that are in the queue have not. Slurm remembers a job for a few minutes.
void print_silent_jobs(const SubmittedRun& run, const std::vector<QueuedJob>& queued) {
  if (find_program("scontrol").empty()) return;
  for (const JobRecord& job : run.jobs) {
    if (std::ranges::find(queued, job.id, &QueuedJob::id) != queued.end()) continue;
    const std::string output = fmt::format("{}/job-{}.out", run.path, job.id);
    std::error_code absent;
    if (fs::file_size(output, absent) > 0 && !absent) continue;
    const ProgramResult said = run_program({"scontrol", "show", "job", job.id}, onlooker_patience());
    if (said.timed_out) return;
    if (said.succeeded()) print_silent(job.id, output, parse_slurm_job(said.out));
  }
}

/// What a person can do about a job that waits for one, by its reason: a job that was released keeps the state
/// RESV_DEL_HOLD until it begins.
std::string way_out(const QueuedJob& job) {
  const auto says = [&](std::initializer_list<const char*> reasons) {
    return std::ranges::any_of(reasons, [&](const char* reason) { return job.text.find(reason) != std::string::npos; });
  };
  std::string command;
  if (says({"Held", " held", "special exit state", "JobHold", " was deleted)", "ReservationDeleted"})) {
    command = fmt::format("scontrol release {}", job.id);
  } else if (says({" is invalid)", "ReservationInvalid"})) {  // a release is for administrators there
    command = fmt::format("scontrol update JobId={} ReservationName=NAME", job.id);
  } else if (says({"BadConstraints"})) {
    command = fmt::format("scontrol update JobId={} ExcNodeList=", job.id);
  }
  return command.empty() ? "" : fmt::format(": `{}` (docs/problems.md, \"A job is held\")", command);
}

/// Not every cluster keeps accounts: its refusal is no error here.
void print_accounts(const SubmittedRun& run) {
  const ProgramResult accounts = run_program({"sacct", "--noheader", "--parsable2", "--allocations",
                                              "--jobs=" + ids(run.jobs), "--format=JobID,State,ExitCode,Elapsed"},
                                             onlooker_patience());
  if (!accounts.succeeded()) return;
  for (const std::string& line : lines_of(accounts.out)) log::out("         {}", line);
}

/// Returns the exit code of a program that wanted to know: not 0 where Slurm did not answer, which is told.
ExitCode print_jobs(const SubmittedRun& run) {
  if (run.is_copy()) {
    log::out("copy     of {}, whose jobs {} stand in its jobs.jsonl too", run.original, ids(run.jobs_of_original));
    if (run.jobs.empty()) {
      log::out("jobs     none of its own yet");
      return ExitCode::finished;
    }
  }
  if (run.jobs.empty()) {
    log::out("jobs     none: it was started by hand");
    return ExitCode::finished;
  }
  log::out("jobs     {}", ids(run.jobs));
  const bool is_slurm_here = !find_program("squeue").empty();
  const Queue queue = is_slurm_here ? ask_queue(run, onlooker_patience()) : Queue{};
  if (queue.answer.came()) {
    print_silent_jobs(run, queue.jobs);
    for (const QueuedJob& job : queue.jobs) log::out("         {} {}{}", job.id, job.text, way_out(job));
  } else {
    log::out("         Slurm did not answer (docs/problems.md, \"Slurm does not answer\"): {}", queue.answer.silence);
  }
  print_accounts(run);
  return queue.answer.code;
}

/// Output of the job that wrote last, also of one that the script or sbatch itself submitted; empty if none has begun.
std::string newest_log(const SubmittedRun& run) {
  std::string newest;
  fs::file_time_type time;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run.path, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("job-") || entry.path().extension() != ".out") continue;
    const fs::file_time_type written = entry.last_write_time(error);
    if (!newest.empty() && written <= time) continue;
    newest = entry.path();
    time = written;
  }
  return newest;
}

Error not_cancelled(const SubmittedRun& run, const SlurmAnswer& answer) {
  return {answer.code, fmt::format("[submit] Slurm did not cancel (docs/problems.md, \"Slurm does not answer\"): {}; "
                                   "jobs of {} may still wait or run, try again later",
                                   answer.silence, run.path)};
}

/// A site may submit a copy of the script.
void tell_of_namesakes(const Queue& queue) {
  for (const QueuedJob& job : queue.namesakes) {
    log::warning(
        "job {} has the name of this run's jobs and another script ({}): if it is the run's, `scancel {}` ends it",
        job.id, readable(job.text), job.id);
  }
}

}  // namespace

int run_status(const std::vector<std::string>& arguments) {
  std::string path;
  Schema schema;
  schema.add("run", path).required().help("Run directory.");
  if (!parse_words(arguments, "usage: octet submit status RUN_DIR\n", schema, "run", 1)) return 0;
  const SubmittedRun run = open_run(path, true);
  log::out("run      {}", run.path);
  const ExitCode answered = print_jobs(run);
  print_standing(run);
  const std::string log = newest_log(run);
  log::out("log      {}", !log.empty() ? log : run.jobs.empty() ? "that of whoever started it" : "none yet");
  return static_cast<int>(answered);
}

int run_cancel(const std::vector<std::string>& arguments) {
  std::string path;
  Schema schema;
  schema.add("run", path).required().help("Run directory.");
  if (!parse_words(arguments, "usage: octet submit cancel RUN_DIR\n", schema, "run", 1)) return 0;
  const SubmittedRun run = open_run(path);
  const Queue queue = ask_queue(run, slurm_patience);
  if (!queue.answer.came()) throw not_cancelled(run, queue.answer);
  tell_of_namesakes(queue);
  std::vector<std::string> jobs;
  for (const QueuedJob& job : queue.jobs) jobs.push_back(job.id);
  if (jobs.empty()) {
    log::out("no job of {} waits or runs", run.path);
    return 0;
  }
  std::vector<std::string> words = {"scancel"};
  words.insert(words.end(), jobs.begin(), jobs.end());  // at once: else the next of a chain could begin
  const SlurmAnswer done = ask_controller(words, slurm_patience);
  if (!done.came()) throw not_cancelled(run, done);
  log::out("cancelled {}", fmt::join(jobs, ", "));
  return 0;
}

int run_logs(const std::vector<std::string>& arguments) {
  std::string path;
  std::int64_t lines = 40;
  bool follows = false;
  Schema schema;
  schema.add("run", path).required().help("Run directory.");
  schema.add("lines", lines).at_least(0).help("How many.");
  schema.add_flag("follow", follows).help("Go on printing what is added.");
  if (!parse_words(arguments, "usage: octet submit logs RUN_DIR [OPTIONS]\n", schema, "run", 1)) return 0;
  const SubmittedRun run = open_run(path);
  const std::string log = newest_log(run);
  if (log.empty()) throw usage_error("submit", "no job of {} has begun: there is no job-ID.out in it", run.path);
  std::string count = fmt::format("--lines={}", lines), file = log, follow = "--follow=name", tail = "tail";
  std::vector<char*> words = {tail.data(), count.data()};
  if (follows) words.push_back(follow.data());
  words.push_back(file.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  throw internal_error("submit", "tail cannot be run: {}", std::strerror(errno));
}

}  // namespace octet::submit
