#include "jobs/octet/submit/submitted_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "jobs/octet/submit/absolute_path.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/options/yaml.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;

/// Says whether a command that squeue shows is the run's script, or was before the run's directory was moved: then
/// nothing is there any more. In another directory it is of another run, as where this one is a copy, or no run's at
/// all. Of what came through a pipe, as some sites' sbatch has it, Slurm does not know.
bool is_script_of(const SubmittedRun& run, const std::string& command) {
  if (command.empty() || command == "(null)") return true;
  const std::size_t arguments = command.find("/job.sh ");
  const fs::path script = command.substr(0, arguments == std::string::npos ? arguments : arguments + 7);
  std::error_code error;
  return script.filename() == "job.sh" &&
         (!fs::exists(script, error) || fs::equivalent(script.parent_path(), run.path, error));
}

/// The command of a job with "NAME|COMMAND" that has a name of one of the run's jobs; nothing for another name. The
/// names alone are compared, since squeue refuses the numbers of jobs that it has forgotten, does not know those that a
/// job's script has submitted itself, and takes a name with a comma, which older runs have, for two.
std::optional<std::string> command_of_namesake(const SubmittedRun& run, const std::string& text) {
  for (const JobRecord& job : run.jobs) {
    if (text.starts_with(job.name + "|")) return text.substr(job.name.size() + 1);
  }
  return std::nullopt;
}

/// The directory that a job was submitted for, as far as its record says it.
std::string directory_of(const JobRecord& job, const std::string& run_dir) {
  if (!job.run_dir.empty()) return job.run_dir;
  std::error_code error;
  if (job.name == job_name(fs::weakly_canonical(run_dir, error))) return run_dir;
  return submitted_directory(run_dir);
}

/// Says whether another run than that in `path` has the job too: the records here are a copy of its own. A directory
/// that was renamed has left nothing where it was.
bool has_job(const std::string& directory, const JobRecord& job, const std::string& path) {
  std::error_code error;
  if (directory.empty() || !fs::exists(directory, error) || fs::equivalent(directory, path, error)) return false;
  try {
    const auto there = recorded_jobs(directory);
    return std::ranges::find(there, job.id, &JobRecord::id) != there.end();
  } catch (const Error&) {  // somebody else's, which says nothing here
    return false;
  }
}

/// Parts the jobs in jobs.jsonl by whose they are.
void sort_jobs(SubmittedRun& run) {
  for (JobRecord& job : recorded_jobs(run.path)) {
    std::string directory = directory_of(job, run.path);
    const bool is_its_own = !has_job(directory, job, run.path);
    (is_its_own ? run.jobs : run.jobs_of_original).push_back(std::move(job));
    if (!is_its_own) run.original = std::move(directory);
  }
}

}  // namespace

std::string submitted_directory(const std::string& run_dir) {
  const std::string file = run_dir + "/submitted.yaml";
  try {
    const auto options = flat_yaml(read_text_file(file).value_or(""), file);
    const auto found = options.find("run.dir");
    return found == options.end() ? "" : found->second;
  } catch (const Error&) {  // which whoever needs the rest of it tells
    return "";
  }
}

SubmittedRun open_run(const std::string& path, bool by_hand) {
  SubmittedRun run{.path = absolute_path(path), .jobs = {}};
  sort_jobs(run);
  std::error_code unknown;
  if (!run.jobs.empty() || run.is_copy() || (by_hand && fs::exists(run.path + "/status.json", unknown))) return run;
  if (by_hand) {
    throw usage_error("submit", "{}: found neither jobs.jsonl nor status.json, expected the directory of a run", path);
  }
  throw usage_error("submit", "{}: found no jobs.jsonl, expected the directory of a run that octet submit submitted",
                    path);
}

Queue ask_queue(const SubmittedRun& run, double seconds) {
  Queue queue{.answer = ask_controller({"squeue", "--me", "--noheader", "--format=%i|%T, %M of %l, %D nodes %R|%j|%o"},
                                       seconds)};
  std::istringstream lines(queue.answer.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t id = line.find('|'), text = line.find('|', id + 1);
    if (text == std::string::npos) continue;
    const auto command = command_of_namesake(run, line.substr(text + 1));
    if (!command) continue;
    const bool is_its_own = is_script_of(run, *command);
    (is_its_own ? queue.jobs : queue.namesakes)
        .push_back({line.substr(0, id), is_its_own ? line.substr(id + 1, text - id - 1) : *command});
  }
  return queue;
}

}  // namespace octet::submit
