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
#include "jobs/octet/submit/run_record.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cluster/slurm_job.h"
#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "src/owner/evidence.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

/// A run directory and the jobs that were submitted for it.
struct Run {
  std::string path;
  std::vector<JobRecord> jobs;
};

/// `by_hand`: or of a run that was started without a job.
Run open_run(const std::string& path, bool by_hand = false) {
  Run run{.path = fs::absolute(path).lexically_normal(), .jobs = recorded_jobs(path)};
  if (run.path.ends_with('/')) run.path.pop_back();
  if (!run.jobs.empty() || (by_hand && fs::exists(run.path + "/status.json"))) return run;
  if (by_hand) {
    throw usage_error("submit", "{}: found neither jobs.jsonl nor status.json, expected the directory of a run", path);
  }
  throw usage_error("submit", "{}: found no jobs.jsonl, expected the directory of a run that octet submit submitted",
                    path);
}

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

/// A job that waits or runs.
struct QueuedJob {
  std::string id;
  std::string text;  ///< its state, for a person
};

/// Says whether a folder is the directory of another run that was submitted.
bool is_another_run(const Run& run, const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "jobs.jsonl", error) && !fs::equivalent(folder, run.path, error);
}

/// Says whether a job with "NAME|SCRIPT" is of the run: it has a name of one of its jobs, and its script is not in
/// another run's directory, as where this one is a copy. The names alone are compared, since squeue refuses the numbers
/// of jobs that it has forgotten, does not know those that a job's script has submitted itself, and takes a name with a
/// comma, which older runs have, for two.
bool is_of(const Run& run, const std::string& text) {
  return std::ranges::any_of(run.jobs, [&](const JobRecord& job) {
    return text.starts_with(job.name + "|") &&
           !is_another_run(run, fs::path(text.substr(job.name.size() + 1)).parent_path());
  });
}

std::vector<QueuedJob> queued(const Run& run) {
  std::vector<QueuedJob> out;
  for (const std::string& line :
       lines_of(run_or_throw({"squeue", "--me", "--noheader", "--format=%i|%T, %M of %l, %D nodes %R|%j|%o"}))) {
    const std::size_t id = line.find('|'), text = line.find('|', id + 1);
    if (text == std::string::npos || !is_of(run, line.substr(text + 1))) continue;
    out.push_back({line.substr(0, id), line.substr(id + 1, text - id - 1)});
  }
  return out;
}

/// Jobs that were cancelled while they waited: neither the queue nor the run directory has anything of them. Slurm
/// remembers a job for a few minutes.
void print_unbegun(const Run& run) {
  if (find_program("scontrol").empty()) return;
  for (const JobRecord& job : run.jobs) {
    if (fs::exists(run.path + "/job-" + job.id + ".out")) continue;
    const ProgramResult said = run_program({"scontrol", "show", "job", job.id}, slurm_patience);
    if (said.succeeded() && parse_slurm_job(said.out).cancelled_unbegun) {
      log::out("         {} was cancelled before it began", job.id);
    }
  }
}

void print_jobs(const Run& run) {
  if (run.jobs.empty()) return log::out("jobs     none: it was started by hand");
  log::out("jobs     {}", ids(run.jobs));
  print_unbegun(run);
  if (!find_program("squeue").empty()) {
    for (const QueuedJob& job : queued(run)) log::out("         {} {}", job.id, job.text);
  }
  if (find_program("sacct").empty()) return;
  // Not every cluster keeps accounts: its refusal is no error here.
  const ProgramResult accounts = run_program({"sacct", "--noheader", "--parsable2", "--allocations",
                                              "--jobs=" + ids(run.jobs), "--format=JobID,State,ExitCode,Elapsed"},
                                             slurm_patience);
  if (!accounts.succeeded()) return;
  for (const std::string& line : lines_of(accounts.out)) log::out("         {}", line);
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line) && !file.eof();) last = line;  // the very last may be half written
  return last;
}

nlohmann::json last_metrics(const Run& run) {
  return nlohmann::json::parse(last_line(run.path + "/metrics.jsonl"), nullptr, false);
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

/// The status is written when a run begins, saves and ends; while it trains its metrics know of later steps.
void print_status(const Run& run, const nlohmann::json& metrics) {
  const auto owner = ask_owner(run.path);
  print_owner(owner);
  auto status = read_status(run.path + "/status.json");
  if (!status) return log::out("status   none yet");
  status = believed(*std::move(status), owner);
  if (metrics.is_object()) status->step = std::max(status->step, metrics.value("step", status->step));
  log::out("status   {} at step {} of {}{}, restarts {}, {}", status->state, status->step, status->steps,
           status->reason.empty() ? "" : fmt::format(" ({})", status->reason), status->restarts, status->time);
  if (!status->checkpoint.empty()) log::out("saved    {}", status->checkpoint);
}

/// Output of the job that wrote last, also of one that the script or sbatch itself submitted; empty if none has begun.
std::string newest_log(const Run& run) {
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

}  // namespace

int run_status(const std::vector<std::string>& arguments) {
  std::string path;
  po::options_description options("options");
  options.add_options()("run", po::value(&path)->required(), "run directory");
  if (!parse_arguments(arguments, "usage: octet submit status RUN_DIR\n", options, "run", 1)) return 0;
  const Run run = open_run(path, true);
  log::out("run      {}", run.path);
  print_jobs(run);
  const nlohmann::json metrics = last_metrics(run);
  print_status(run, metrics);
  print_metrics(metrics);
  const std::string log = newest_log(run);
  log::out("log      {}", !log.empty() ? log : run.jobs.empty() ? "that of whoever started it" : "none yet");
  return 0;
}

int run_cancel(const std::vector<std::string>& arguments) {
  std::string path;
  po::options_description options("options");
  options.add_options()("run", po::value(&path)->required(), "run directory");
  if (!parse_arguments(arguments, "usage: octet submit cancel RUN_DIR\n", options, "run", 1)) return 0;
  const Run run = open_run(path);
  std::vector<std::string> jobs;
  for (const QueuedJob& job : queued(run)) jobs.push_back(job.id);
  if (jobs.empty()) {
    log::out("no job of {} waits or runs", run.path);
    return 0;
  }
  std::vector<std::string> words = {"scancel"};
  words.insert(words.end(), jobs.begin(), jobs.end());  // at once: else the next of a chain could begin
  run_or_throw(words);
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
  const Run run = open_run(path);
  const std::string log = newest_log(run);
  if (log.empty())
    throw usage_error("submit", "no job of {} has begun: there is no {}/job-{}.out", run.path, run.path,
                      run.jobs.back().id);
  std::string count = fmt::format("--lines={}", lines), file = log, follow = "--follow=name", tail = "tail";
  std::vector<char*> words = {tail.data(), count.data()};
  if (values->contains("follow")) words.push_back(follow.data());
  words.push_back(file.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  throw internal_error("submit", "tail cannot be run: {}", std::strerror(errno));
}

}  // namespace octet::submit
