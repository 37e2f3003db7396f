#include "jobs/octet/submit/follow.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jobs/octet/commands.h"
#include "jobs/octet/submit/program.h"
#include "jobs/octet/submit/submitted_run.h"
#include "src/base/error.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/cluster/slurm_job.h"
#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "src/owner/evidence.h"
#include "src/owner/told_to_end.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

std::string ids(const std::vector<JobRecord>& jobs) {
  std::string out;
  for (const JobRecord& job : jobs) out += (out.empty() ? "" : ",") + job.id;
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) out.push_back(line);
  }
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

/// Jobs that have ended without a word. Slurm remembers a job for a few minutes.
void print_silent_jobs(const SubmittedRun& run) {
  if (find_program("scontrol").empty()) return;
  for (const JobRecord& job : run.jobs) {
    const std::string output = fmt::format("{}/job-{}.out", run.path, job.id);
    std::error_code absent;
    if (fs::file_size(output, absent) > 0 && !absent) continue;
    const ProgramResult said = run_program({"scontrol", "show", "job", job.id}, onlooker_patience());
    if (said.timed_out) return;
    if (said.succeeded()) print_silent(job.id, output, parse_slurm_job(said.out));
  }
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
  if (queue.answer.is_there()) {
    print_silent_jobs(run);
    for (const QueuedJob& job : queue.jobs) log::out("         {} {}", job.id, job.text);
  } else {
    log::out("         Slurm did not answer (docs/problems.md, \"Slurm does not answer\"): {}", queue.answer.silence);
  }
  print_accounts(run);
  return queue.answer.code;
}

std::string last_line(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";  // a pipe would wait for its writer
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line) && !file.eof();) last = line;  // the very last may be half written
  return last;
}

/// An object; null where there is no line, and where it cannot be read, which is told.
nlohmann::json last_metrics(const SubmittedRun& run) {
  const std::string path = run.path + "/metrics.jsonl", line = last_line(path);
  if (line.empty()) return nullptr;
  try {
    auto json = parse_json(line, "submit", path, "the metrics of a step");
    JsonReader(json, "submit", path).integer("step", 0);
    return json;
  } catch (const Error& error) {
    log::warning("{}; the last line is left out", error.what());
    return nullptr;
  }
}

/// "step 7, loss 2.5, ...": numbers that a person looks for.
void print_metrics(const nlohmann::json& json) {
  if (!json.is_object()) return log::out("metrics  none yet");
  const auto rounded = [](std::string_view key, double value) {
    if (key == "step") return fmt::format("{:.0f}", value);
    if (key == "tokens_per_second") return grouped(value);
    return key == "mfu" ? fmt::format("{:.1f}", value) : fmt::format("{:.4f}", value);  // as the training log does
  };
  std::string text;
  for (const char* key : {"step", "loss", "validation_loss", "grad_norm", "tokens_per_second", "mfu"}) {
    if (!json.contains(key) || !json[key].is_number()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, rounded(key, json[key].get<double>()));
  }
  log::out("metrics  {}", text);
}

void print_owner(const std::optional<OwnerStanding>& owner) {
  if (!owner || owner->gone()) return;
  const std::string heard = owner->age_seconds ? fmt::format(", heard of {:.0f} s ago", *owner->age_seconds) : "";
  log::out("owner    {}{}", describe(owner->owner), heard);
}

/// ": job 7 was cancelled ..." of the owner's job, or of the newest that was told to end: a run that starts has written
/// no status yet, and has not claimed the directory at first.
std::string end_of_a_start(const SubmittedRun& run, const std::optional<OwnerStanding>& owner) {
  if (owner && !owner->gone()) return "";
  if (owner && owner->told) return ": " + *owner->told;
  for (auto job = run.jobs.rbegin(); job != run.jobs.rend(); ++job) {
    if (const auto told = told_to_end(run.path, job->id)) return ": " + *told;
  }
  return "";
}

/// The status is written when a run begins, saves and ends; while it trains its metrics know of later steps.
void print_status(const SubmittedRun& run, const nlohmann::json& metrics) {
  const auto owner = ask_owner(run.path);
  print_owner(owner);
  auto status = read_status(run.path + "/status.json");
  if (!status) return log::out("status   none yet{}", end_of_a_start(run, owner));
  status = believed(*std::move(status), owner);
  if (metrics.is_object()) status->step = std::max(status->step, metrics["step"].get<std::int64_t>());
  log::out("status   {} at step {} of {}{}, restarts {}, {}", status->state, status->step, status->steps,
           status->reason.empty() ? "" : fmt::format(" ({})", readable(status->reason)), status->restarts,
           status->time);
  if (!status->checkpoint.empty()) log::out("saved    {}", readable(status->checkpoint));
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

}  // namespace

int run_status(const std::vector<std::string>& arguments) {
  std::string path;
  po::options_description options("options");
  options.add_options()("run", po::value(&path)->required(), "run directory");
  if (!parse_arguments(arguments, "usage: octet submit status RUN_DIR\n", options, "run", 1)) return 0;
  const SubmittedRun run = open_run(path, true);
  log::out("run      {}", run.path);
  const ExitCode answered = print_jobs(run);
  const nlohmann::json metrics = last_metrics(run);
  print_status(run, metrics);
  print_metrics(metrics);
  const std::string log = newest_log(run);
  log::out("log      {}", !log.empty() ? log : run.jobs.empty() ? "that of whoever started it" : "none yet");
  return static_cast<int>(answered);
}

/// A site may submit a copy of the script.
void tell_of_namesakes(const Queue& queue) {
  for (const QueuedJob& job : queue.namesakes) {
    log::warning(
        "job {} has the name of this run's jobs and another script ({}): if it is the run's, `scancel {}` ends it",
        job.id, readable(job.text), job.id);
  }
}

int run_cancel(const std::vector<std::string>& arguments) {
  std::string path;
  po::options_description options("options");
  options.add_options()("run", po::value(&path)->required(), "run directory");
  if (!parse_arguments(arguments, "usage: octet submit cancel RUN_DIR\n", options, "run", 1)) return 0;
  const SubmittedRun run = open_run(path);
  const Queue queue = ask_queue(run, slurm_patience);
  if (!queue.answer.is_there()) throw not_cancelled(run, queue.answer);
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
  if (!done.is_there()) throw not_cancelled(run, done);
  log::out("cancelled {}", fmt::join(jobs, ", "));
  return 0;
}

int run_logs(const std::vector<std::string>& arguments) {
  std::string path;
  std::int64_t lines = 40;
  po::options_description options("options");
  options.add_options()("run", po::value(&path)->required(), "run directory")  //
      ("lines", po::value(&lines)->default_value(lines), "how many")           //
      ("follow", "go on printing what is added");
  const auto values = parse_arguments(arguments, "usage: octet submit logs RUN_DIR [OPTIONS]\n", options, "run", 1);
  if (!values) return 0;
  if (lines < 0) throw usage_error("submit", "--lines is {}; expected at least 0", lines);
  const SubmittedRun run = open_run(path);
  const std::string log = newest_log(run);
  if (log.empty()) throw usage_error("submit", "no job of {} has begun: there is no job-ID.out in it", run.path);
  std::string count = fmt::format("--lines={}", lines), file = log, follow = "--follow=name", tail = "tail";
  std::vector<char*> words = {tail.data(), count.data()};
  if (values->contains("follow")) words.push_back(follow.data());
  words.push_back(file.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  throw internal_error("submit", "tail cannot be run: {}", std::strerror(errno));
}

}  // namespace octet::submit
