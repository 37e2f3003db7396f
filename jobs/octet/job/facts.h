#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "src/cluster/job_decision.h"

namespace octet {

/// Options of `octet job before` and `octet job after` alike: what Slurm says of the job.
boost::program_options::options_description job_options();

/// The facts that these options tell; files that are not there tell nothing.
JobFacts facts_of(const boost::program_options::variables_map& values);

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
