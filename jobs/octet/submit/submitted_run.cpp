#include "jobs/octet/submit/submitted_run.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "src/base/error.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;

/// Says whether a folder is the directory of another run that was submitted.
bool is_another_run(const SubmittedRun& run, const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "jobs.jsonl", error) && !fs::equivalent(folder, run.path, error);
}

/// Says whether a job with "NAME|SCRIPT" is of the run: it has a name of one of its jobs, and its script is not in
/// another run's directory, as where this one is a copy. The names alone are compared, since squeue refuses the numbers
/// of jobs that it has forgotten, does not know those that a job's script has submitted itself, and takes a name with a
/// comma, which older runs have, for two.
bool is_of(const SubmittedRun& run, const std::string& text) {
  return std::ranges::any_of(run.jobs, [&](const JobRecord& job) {
    return text.starts_with(job.name + "|") &&
           !is_another_run(run, fs::path(text.substr(job.name.size() + 1)).parent_path());
  });
}

}  // namespace

SubmittedRun open_run(const std::string& path, bool by_hand) {
  SubmittedRun run{.path = fs::absolute(path).lexically_normal(), .jobs = recorded_jobs(path)};
  if (run.path.ends_with('/')) run.path.pop_back();
  if (!run.jobs.empty() || (by_hand && fs::exists(run.path + "/status.json"))) return run;
  if (by_hand) {
    throw usage_error("submit", "{}: found neither jobs.jsonl nor status.json, expected the directory of a run", path);
  }
  throw usage_error("submit", "{}: found no jobs.jsonl, expected the directory of a run that octet submit submitted",
                    path);
}

Queue ask_queue(const SubmittedRun& run, double seconds) {
  Queue queue{{},
              ask_controller({"squeue", "--me", "--noheader", "--format=%i|%T, %M of %l, %D nodes %R|%j|%o"}, seconds)};
  std::istringstream lines(queue.answer.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t id = line.find('|'), text = line.find('|', id + 1);
    if (text == std::string::npos || !is_of(run, line.substr(text + 1))) continue;
    queue.jobs.push_back({line.substr(0, id), line.substr(id + 1, text - id - 1)});
  }
  return queue;
}

}  // namespace octet::submit
