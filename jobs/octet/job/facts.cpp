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
namespace po = boost::program_options;

po::options_description job_options() {
  po::options_description options("What the job's script knows");
  options.add_options()("run-dir", po::value<std::string>()->required(), "the run's directory")(
      "job", po::value<std::string>()->default_value(""), "Slurm's id of the job")(
      "slurm-job", po::value<std::string>()->default_value(""), "file with what `scontrol show job` printed")(
      "restarts", po::value<int>()->default_value(-1),
      "how often the job had been requeued when this script began (SLURM_RESTART_COUNT)")(
      "max-restarts", po::value<int>()->default_value(3), "launches without a new checkpoint that are tried again")(
      "seconds-needed", po::value<double>()->default_value(0), "what must be left of the time limit to start again")(
      "successors", po::value<int>()->default_value(0), "jobs in the queue that go on with this run")(
      "terminated", po::bool_switch(), "the script was told to end (SIGTERM)")(
      "time-over", po::bool_switch(), "the script got the signal before the time limit (SIGUSR1)");
  return options;
}

JobFacts facts_of(const po::variables_map& values) {
  JobFacts facts;
  const SlurmJob slurm = parse_slurm_job(read_text_file(values["slurm-job"].as<std::string>()).value_or(""));
  facts.max_restarts = values["max-restarts"].as<int>();
  facts.terminated = values["terminated"].as<bool>() || slurm.ending;
  facts.time_is_over = values["time-over"].as<bool>();
  facts.successors = values["successors"].as<int>();
  facts.preempted = slurm.preempted;
  facts.timed_out = slurm.timed_out;
  facts.node_failed = slurm.node_failed;
  const int restarts = values["restarts"].as<int>();
  facts.requeued = restarts >= 0 && slurm.restarts > restarts;
  facts.slurm_answers = slurm.known;
  facts.seconds_left = slurm.seconds_left;
  facts.seconds_needed = values["seconds-needed"].as<double>();
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
