#include "jobs/octet/job/facts.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/cluster/doctor/node_report.h"
#include "src/cluster/environment/job_findings.h"
#include "src/cluster/host_list.h"
#include "src/cluster/shell_text.h"
#include "src/cluster/slurm_job.h"

namespace octet {

void declare(Schema& schema, JobOptions& o) {
  schema.add("when", o.when).help("What is asked: before, after, refused or rest.");
  schema.add("run-dir", o.run_dir).required().help("The run's directory.");
  schema.add("job", o.job).help("Slurm's id of the job.");
  schema.add("slurm-job", o.slurm_job).help("File with what `scontrol show job` printed.");
  schema.add("restarts", o.restarts)
      .at_least(-1)
      .help("How often the job had been requeued when this script began (SLURM_RESTART_COUNT); -1: not known.");
  schema.add("max-restarts", o.max_restarts)
      .at_least(0)
      .help("Launches without a new checkpoint that are tried again.");
  schema.add("seconds-needed", o.seconds_needed).help("What must be left of the time limit to start again.");
  schema.add("successors", o.successors).at_least(0).help("Jobs in the queue that go on with this run.");
  schema.add_flag("terminated", o.terminated).help("The script was told to end (SIGTERM).");
  schema.add_flag("time-over", o.time_over).help("The script got the signal before the time limit (SIGUSR1).");
  schema.add("nodes", o.nodes).at_least(1).help("Before a launch: nodes to train on.");
  schema.add("hosts", o.hosts).help("Before a launch: the allocation's nodes (SLURM_JOB_NODELIST).");
  schema.add("order", o.order).help("Before a launch, of ranks: topology (leaf by leaf) or slurm.");
  schema.add("steps", o.steps).help("Before a launch and of rest: steps of the run, all told.");
  schema.add("min-lead", o.min_lead)
      .help("Before a launch: seconds for the last checkpoint before the limit, at least.");
  schema.add("topology", o.topology).help("Before a launch: file with what `scontrol show topology` printed.");
  schema.add("preflight", o.preflight)
      .help("Before a launch: folder with a file NODE.code of each node that answered.");
  schema.add("launcher-code", o.launcher_code)
      .help("After a launch: srun's exit code, for the log; none: a signal came before it was started.");
  schema.add("said", o.said).help("After a launch: file with srun's standard error, for the log.");
  schema.add("what", o.what).help("Of refused: what Slurm refused, and why it was asked.");
  schema.add("reason", o.reason).help("Of refused: what the script itself refuses, in place of --what.");
  schema.add("after", o.after).help("Of rest: how this job has ended, finish or stop.");
  schema.add("waiting", o.waiting).help("Of rest: numbers of the jobs that wait.");
}

JobFacts facts_of(const JobOptions& options) {
  JobFacts facts;
  const SlurmJob slurm = parse_slurm_job(read_text_file(options.slurm_job).value_or(""));
  facts.max_restarts = options.max_restarts;
  facts.terminated = options.terminated || slurm.ending;
  facts.time_is_over = options.time_over;
  facts.successors = options.successors;
  facts.preempted = slurm.preempted;
  facts.timed_out = slurm.timed_out;
  facts.node_failed = slurm.node_failed;
  facts.requeued = options.restarts >= 0 && slurm.restarts > options.restarts;
  facts.slurm_answers = slurm.known;
  facts.seconds_left = slurm.seconds_left;
  facts.seconds_needed = options.seconds_needed;
  return facts;
}

namespace {

/// The bad findings of a node's report, "CHECK: what was seen; advice".
std::set<std::string> bad_findings(const std::string& report) {
  std::set<std::string> found;
  try {
    const auto json = parse_json(report, "job", "a node's report", "what octet doctor --json prints");
    for (const JsonReader& finding : JsonReader(json, "job", "a node's report").list("findings")) {
      if (finding.text("state") != "bad") continue;
      found.insert(fmt::format("{}: {}", finding.text("check"), finding.text("seen")));
    }
  } catch (const Error&) {  // a node that could say nothing
  }
  return found;
}

/// What the nodes share where none is healthy: several have it, or it is of the storage, which they share anyway.
std::string common_findings(const JobFacts& facts, const std::string& folder) {
  if (!facts.healthy.empty() || facts.unhealthy.empty()) return "";
  std::set<std::string> common;
  for (std::size_t i = 0; i < facts.unhealthy.size(); ++i) {
    std::set<std::string> mine =
        bad_findings(read_text_file(fmt::format("{}/{}.json", folder, facts.unhealthy[i])).value_or(""));
    if (i > 0) std::erase_if(mine, [&](const std::string& text) { return !common.contains(text); });
    common = std::move(mine);
  }
  if (facts.unhealthy.size() == 1) {
    std::erase_if(common, [](const std::string& text) { return !text.starts_with("storage."); });
  }
  return fmt::format("{}", fmt::join(common, "; "));
}

}  // namespace

void add_preflight(JobFacts& facts, const std::vector<std::string>& hosts, const std::string& folder) {
  for (const std::string& host : hosts) {
    int code = 0;
    std::ifstream file(fmt::format("{}/{}.code", folder, host));
    if (!(file >> code)) {
      facts.silent.push_back(host);
    } else if (code == static_cast<int>(ExitCode::unhealthy)) {
      facts.unhealthy.push_back(host);
    } else {
      (code == 0 ? facts.healthy : facts.unchecked).push_back(host);
    }
  }
  facts.in_common = common_findings(facts, folder);
}

void report_environment(const std::vector<std::string>& hosts, const std::string& folder) {
  std::map<std::string, std::vector<std::string>> found;
  for (const std::string& host : hosts) {
    const std::string path = fmt::format("{}/{}.env", folder, host);
    const std::string text = read_text_file(path).value_or("");
    if (!text.starts_with('{')) continue;  // the node did not answer, or nobody asked it
    try {
      for (const Finding& f : parse_report(text, path).findings) {
        if (f.state != FindingState::ok) found[describe(f)].push_back(host);
      }
    } catch (const Error& error) {  // broken off: what it would have said ends no job
      log::warning("environment of {}: no report: {}", host, error.what());
    }
  }
  for (const auto& [text, where] : found) log::warning("environment of {}: {}", compress_hosts(where), text);
}

void leave_out_hosts(JobFacts& facts, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (std::erase(facts.healthy, host) != 0) facts.unhealthy.push_back(host);
  }
}

void print_decision(const JobDecision& decision, const std::vector<std::string>& hosts) {
  log::out("action={}", name_of(decision.action));
  log::out("reason={}", shell_word(readable(decision.reason)));
  log::out("exclude={}", shell_word(compress_hosts(decision.exclude)));
  log::out("hosts={}", shell_word(compress_hosts(hosts)));
}

}  // namespace octet
