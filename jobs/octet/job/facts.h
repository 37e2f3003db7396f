#pragma once

#include <string>
#include <vector>

#include "src/base/options/schema.h"
#include "src/cluster/job_decision.h"

namespace octet {

/// What the script of a job says when it asks `octet job`; of texts and files, empty: nothing.
struct JobOptions {
  std::string when;  ///< before, after, refused or rest
  std::string run_dir, job, slurm_job;

  // Before a launch and after it.
  int restarts = -1, max_restarts = 3, successors = 0;
  double seconds_needed = 0;
  bool terminated = false, time_over = false;

  // Before it alone; the steps are of `rest` too.
  int nodes = 1;
  std::string hosts, order = "topology", topology, preflight;
  std::int64_t steps = 0, min_lead = 0;

  std::string launcher_code, said;                     ///< of `after`
  std::string what = "the job's next step", reason{};  ///< of `refused`
  std::string after = "stop", waiting{};               ///< of `rest`
};

void declare(Schema& schema, JobOptions& options);

/// The facts that they tell before and after a launch; files that are not there tell nothing.
JobFacts facts_of(const JobOptions& options);

/// What the preflight has left in a folder: NODE.json, octet doctor's report, and a file NODE.code with the exit code
/// of the look at that node, and none where the node did not answer. `hosts`: the allocation's, in rank order.
void add_preflight(JobFacts& facts, const std::vector<std::string>& hosts, const std::string& folder);

/// Tells what octet doctor --env found on the nodes, in their files NODE.env there: each finding that is not ok once,
/// with its hosts.
void report_environment(const std::vector<std::string>& hosts, const std::string& folder);

/// Hosts that an earlier launch could not go on with are unhealthy, whatever the preflight says.
void leave_out_hosts(JobFacts& facts, const std::vector<std::string>& hosts);

/// Lines that a shell evaluates: action, reason, exclude and hosts (lists in Slurm's form).
void print_decision(const JobDecision& decision, const std::vector<std::string>& hosts);

}  // namespace octet
