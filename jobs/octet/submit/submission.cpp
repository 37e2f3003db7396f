#include "jobs/octet/submit/submission.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "jobs/octet/submit/absolute_path.h"
#include "jobs/octet/submit/job_body.h"
#include "jobs/octet/submit/program.h"
#include "jobs/octet/submit/run_record.h"
#include "jobs/octet/submit/submit_checks.h"
#include "jobs/octet/submit/submitted_run.h"
#include "src/base/files.h"
#include "src/base/installation.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"
#include "src/base/replace_file.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/job_findings.h"
#include "src/metrics/status.h"
#include "src/run_config/options/run_options.h"
#include "src/train/start/run_directory.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;

/// The job runs somewhere else and later.
CommandLine resolve_paths(CommandLine run) {
  RunConfig& c = run.config;
  const std::string& from = run.config_file.empty() ? c.model_name : run.config_file;
  c.run_dir = absolute_path(c.run_dir.empty() ? default_run_directory(fs::path(from).stem()) : c.run_dir);
  for (DataSource& source : c.data.train) source.path = absolute_path(source.path);
  return run;
}

/// What the first submission decided; nothing where this is the first. A file that is there and says nothing must not
/// be replaced: jobs in the queue read it.
std::optional<std::string> submitted_before(const std::string& file) {
  auto text = read_text_file(file);
  const int why = text ? 0 : errno;
  if ((text && !text->empty()) || why == ENOENT) return text;
  throw usage_error("submit",
                    "{}: {}; expected the configuration of the run's first submission (a copy of it is in config.yaml "
                    "once the run has begun). Bring it back, or remove it to have this submission decide",
                    file, text ? "is empty" : fmt::format("cannot be read: {}", reason_not_read(why)));
}

/// 1e-08, as older versions wrote it, and 1.0e-08 are one number.
bool is_same(const std::string& a, const std::string& b) {
  double x = 0, y = 0;
  const auto is_number = [](const std::string& text, double& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  return a == b || (is_number(a, x) && is_number(b, y) && x == y);
}

/// The options that turn the configuration in submitted.yaml into this one.
std::vector<std::string> differences(const std::string& submitted, const std::string& file, const RunConfig& config) {
  const auto there = flat_yaml(submitted, file);
  std::vector<std::string> out;
  for (const auto& [key, value] : flat_yaml(to_yaml(config), "this run")) {
    const auto before = there.find(key);
    if (before == there.end() || !is_same(before->second, value)) out.push_back(fmt::format("--{}={}", key, value));
  }
  return out;
}

/// A job must train what was checked here.
void check_same(const std::string& file, const std::vector<std::string>& options, const RunConfig& config) {
  std::vector<const char*> words = {"octet-train", file.c_str()};
  for (const std::string& option : options) words.push_back(option.c_str());
  const CommandLine there = parse_command_line(static_cast<int>(words.size()), words.data());
  if (to_yaml(there.config) == to_yaml(config)) return;
  throw internal_error("submit", "{} with {} does not give the configuration that was checked", file,
                       command_text(options));
}

/// This program, and octet-train beside it.
void set_programs(JobScript& job) {
  job.octet = program_path();
  if (job.octet.empty()) throw internal_error("submit", "/proc/self/exe does not name this program");
  job.octet_train = fs::path(job.octet).parent_path() / "octet-train";
}

/// The job's log is in the run directory, and the job's name comes from it.
void check_characters(const std::string& run_dir) {
  const auto refuse = [&](const char* why) {
    throw usage_error("submit", "run.dir = {}: has {}; expected another name", in_quotes(run_dir), why);
  };
  if (run_dir.find_first_of("\n\r") != std::string::npos) {
    refuse("a line break, which a line of #SBATCH cannot hold");
  }
  if (run_dir.find('\\') != std::string::npos) {
    refuse("a backslash, by which sbatch no longer puts the job's number for %j into --output");
  }
}

/// Says whether the run directory is the one that its submitted.yaml was written in, by whatever path: neither a copy
/// of it nor renamed.
bool is_where_it_was(const std::string& run_dir) {
  std::error_code error;
  return fs::equivalent(submitted_directory(run_dir), run_dir, error);
}

/// The name that the run's jobs have already, since those wait for each other; else by the path that all paths lead to.
std::string name_of_jobs(const std::string& run_dir) {
  const std::vector<JobRecord> jobs = recorded_jobs(run_dir);
  const bool has_name = !jobs.empty() && jobs.back().name.find(',') == std::string::npos && is_where_it_was(run_dir);
  if (has_name) return jobs.back().name;
  std::error_code error;
  const fs::path path = fs::weakly_canonical(run_dir, error);
  if (error) throw usage_error("submit", "run.dir = {}: cannot be read: {}", in_quotes(run_dir), error.message());
  return job_name(path);
}

JobScript job_of(const SubmitOptions& o, const ClusterProfile& profile, const std::string& run_dir) {
  check_characters(run_dir);
  JobScript job;
  job.profile = profile;
  job.name = name_of_jobs(run_dir);
  job.run_dir = run_dir;
  job.run_config = run_dir + "/submitted.yaml";
  job.working_dir = fs::current_path();
  job.nodes = o.nodes;
  job.spares = o.spares;
  job.time = o.time.empty() ? profile.slurm.time : o.time;
  job.exclude = o.exclude;
  job.after = o.after;
  job.environment = job_environment(profile, run_dir);
  const auto status = read_status(run_dir + "/status.json");
  job.lead_seconds = stop_lead_seconds(profile.launcher.min_lead_seconds, status ? status->checkpoint_seconds : 0);
  set_programs(job);
  return job;
}

}  // namespace

Submission prepare(const SubmitCommand& command, const ClusterProfile& profile, SlurmVersion slurm) {
  Submission out;
  out.run = resolve_paths(command.run);
  if (!out.run.origins.contains("cpu.bind")) out.run.config.cpu.bind = profile.cpu.bind;
  const RunConfig& config = out.run.config;
  out.job = job_of(command.options, profile, config.run_dir);
  out.job.slurm = slurm;
  out.job.steps = config.train.steps;
  for (const std::string& finding :
       environment_findings(profile, config.run_dir, inherited_variables(Machine(), &profile))) {
    log::warning("{}", finding);
  }
  out.notes = check_submission(out.run, command.options, profile, out.job);

  const std::optional<std::string> before = submitted_before(out.job.run_config);
  if (!before) {
    out.run_yaml = to_yaml(config);
  } else {
    out.job.train_options = differences(*before, out.job.run_config, config);
    check_same(out.job.run_config, out.job.train_options, config);
  }
  out.container = set_container(out.job, config);
  out.script = render(out.job, job_body());
  return out;
}

std::vector<PlannedFile> Submission::files(std::int64_t chain) const {
  std::vector<PlannedFile> out;
  if (!run_yaml.empty()) out.push_back({"submitted.yaml", run_yaml});
  if (!container.octet_train.empty()) out.push_back({"octet-train.sh", container.octet_train, true});
  if (!container.octet.empty()) out.push_back({"octet.sh", container.octet, true});
  out.push_back({"cluster.yaml", to_yaml(job.profile)});
  out.push_back({"job.sh", script, true});
  out.push_back({"jobs.jsonl", "", false, fmt::format("a line more for each of {} job(s), with its number", chain)});
  return out;
}

namespace {

/// For all who may read it, which the umask has decided.
void make_executable(const std::string& path) {
  const unsigned mode = static_cast<unsigned>(fs::status(path).permissions());
  fs::permissions(path, static_cast<fs::perms>((mode & 0444U) >> 2U), fs::perm_options::add);
}

}  // namespace

void write_run_directory(const Submission& s) {
  const std::string& folder = s.job.run_dir;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    errno = error.value();
    throw not_made("submit", "run.dir = " + folder);
  }
  for (const PlannedFile& file : s.files(1)) {
    const std::string path = folder + "/" + file.name;
    if (file.text.empty()) continue;
    if (!replace_file(path, file.text)) throw not_written("submit", "run.dir: " + path);
    if (file.is_program) make_executable(path);
  }
}

}  // namespace octet::submit
