// octet job: what a job's script asks before and after each launch; src/cluster/job_decision.h has the rules.
#include <climits>
#include <iterator>
#include <sstream>

#include "jobs/octet/commands.h"
#include "jobs/octet/job/facts.h"
#include "jobs/octet/job/launch_log.h"
#include "jobs/octet/job/outcome.h"
#include "jobs/octet/job/rest.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/cluster/host_list.h"
#include "src/cluster/job_script.h"
#include "src/cluster/profile.h"
#include "src/cluster/slurm_job.h"
#include "src/cluster/slurm_topology.h"
#include "src/owner/evidence.h"
#include "src/owner/told_to_end.h"

namespace octet {
namespace {

constexpr std::string_view job_usage =
    "usage: octet job before|after|refused|rest --run-dir DIR [OPTIONS]\n"
    "       octet job rest --run-dir DIR --job ID --after finish|stop --steps N --waiting IDS\n"
    "       octet job hosts LIST\n\n"
    "For the scripts of octet submit. Before a launch: which nodes are healthy, in which order ranks go onto them, "
    "and\n"
    "whether to start. After it: completes status.json where the run could not, and says what comes next. Both print\n"
    "shell assignments: action (launch, restart, hand_over, requeue, exclude, wait, look_again, finish, stop), "
    "reason,\n"
    "exclude and hosts; before a launch also lead (seconds that stopping takes) and left (of the time limit). After a\n"
    "refusal of Slurm: status.json says so. rest: of the jobs that wait, those that have nothing\n"
    "to do once this one has ended so, a line each. hosts: the nodes of a list in Slurm's form, a line each; Slurm is "
    "not\n"
    "asked.\n"
    "RUN/job/launches.jsonl has every launch of a run.\n";

/// A topology that cannot be understood costs speed; it ends no job.
std::vector<std::string> in_rank_order(const std::vector<std::string>& hosts, const std::string& order,
                                       const std::string& topology_file) {
  if (order == name_of(HostOrder::slurm)) return hosts;
  try {
    return order_by_leaf(hosts, parse_topology(read_text_file(topology_file).value_or("")));
  } catch (const Error& e) {
    log::warning("{}; ranks stay in Slurm's order", e.what());
    return hosts;
  }
}

/// A run of another job, or of none, that owns the directory now: nothing there is this job's to read or to write, but
/// its own launches.
std::optional<OwnerRecord> another_run(const JobOptions& o) {
  const auto owner = ask_owner(o.run_dir);
  if (!owner || owner->gone() || (!o.job.empty() && owner->owner.job.id == o.job)) return std::nullopt;
  return owner->owner;
}

JobDecision refusal(const std::string& run, const OwnerRecord& owner) {
  return {JobAction::stop, fmt::format("another run is at work in {}: {}", run, describe(owner))};
}

/// Prints that the job stops, where the directory is another run's, and says whether it is.
bool stop_if_another_run(const JobOptions& o) {
  const auto owner = another_run(o);
  if (owner) print_decision(refusal(o.run_dir, *owner), {});
  return owner.has_value();
}

/// The launch whose script itself was killed: of this job, or of another that Slurm says is over.
LaunchRecord* lost_launch(LaunchLog& log, const std::string& job) {
  if (LaunchRecord* mine = log.running(job)) return mine;
  LaunchRecord* other = log.running_elsewhere(job);
  if (other == nullptr) return nullptr;
  const JobLaunch theirs{.cluster = this_launch().cluster, .id = other->launch.job, .restart = INT_MAX};
  return ask_slurm(theirs).value_or(false) ? other : nullptr;
}

/// What such a launch ended with. One that Slurm ended for its own reasons says nothing of the run (fruitless); a limit
/// counts, since the next start may reach it too, and so does a node that failed, which the run may have taken down.
JobAction after_lost_launch(const std::optional<ToldToEnd>& told) {
  if (!told) return JobAction::requeue;  // killed with its node, and here again
  if (told->at_limit || told->node_failed) return JobAction::requeue;
  return told->comes_back ? JobAction::wait : JobAction::stop;
}

int before(const JobOptions& o) {
  if (stop_if_another_run(o)) return 0;
  JobFacts facts = facts_of(o);
  facts.launched = false;
  facts.nodes_wanted = o.nodes;
  // Of the allocation as it is now: with --no-kill it has lost the nodes that failed.
  const std::string hosts_now(node_list(read_text_file(o.slurm_job).value_or("")));
  const std::vector<std::string> allocation =
      in_rank_order(expand_hosts(hosts_now.empty() ? o.hosts : hosts_now), o.order, o.topology);
  add_preflight(facts, allocation, o.preflight);
  report_environment(allocation, o.preflight);
  LaunchLog log(o.run_dir);
  if (LaunchRecord* lost = lost_launch(log, o.job)) {
    end_launch(*lost, o.run_dir, "", "");
    lost->action = name_of(after_lost_launch(told_to_end(o.run_dir, lost->launch.job)));
  }
  leave_out_hosts(facts, log.left_out(o.job));
  facts.fruitless = log.fruitless();
  if (!log.records().empty()) facts.last = log.records().back().launch;
  facts.last.state = is_finished(o.run_dir, o.steps) ? "finished" : "";
  JobDecision decision = decide(facts);
  std::vector<std::string> hosts;
  if (decision.action == JobAction::launch) {
    hosts.assign(facts.healthy.begin(), facts.healthy.begin() + facts.nodes_wanted);
    log.add(begin_launch(o.run_dir, o.job, compress_hosts(hosts)));
  } else if (decision.action != JobAction::look_again) {
    decision.exclude = log.with_excluded(std::move(decision.exclude));
    log.add(not_begun(o.run_dir, o.job, decision));
    note_end(o.run_dir, decision);
  }
  try {
    log.write();
  } catch (const Error& e) {
    decision = {JobAction::stop, e.what()};
    note_end(o.run_dir, decision);
  }
  // What was kept of the start before; not where this one is told to end, too.
  if (!facts.terminated) forget_told_to_end(o.run_dir, o.job);
  print_decision(decision, hosts);
  log::out("lead={}", stop_lead_seconds(o.min_lead, checkpoint_seconds(o.run_dir)));
  log::out("left={}", static_cast<std::int64_t>(facts.seconds_left));
  return 0;
}

int list_hosts(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 || arguments[1].starts_with('-'))
    throw usage_error("job", "octet job hosts: expected one list of hosts, such as n[1-3]");
  for (const std::string& host : expand_hosts(arguments[1])) log::out("{}", host);
  return 0;
}

int rest(const JobOptions& o) {
  std::istringstream words(o.waiting);
  const std::vector<std::string> waiting{std::istream_iterator<std::string>(words), {}};
  const auto jobs = submit::recorded_jobs(o.run_dir);
  const bool finished = o.after == name_of(JobAction::finish);
  const auto useless = finished ? without_steps(jobs, waiting, o.steps) : of_the_same(jobs, waiting, o.job);
  for (const std::string& id : useless) log::out("{}", id);
  return 0;
}

/// Slurm did not do what was decided.
int refused(const JobOptions& o) {
  if (stop_if_another_run(o)) return 0;
  note_end(o.run_dir, {JobAction::stop, o.reason.empty() ? "Slurm refused " + o.what : o.reason});
  return 0;
}

/// The launch ended since the directory is another run's. A log that cannot be written is that run's concern.
int after_refusal(LaunchLog& log, LaunchRecord* record, const std::string& run, const OwnerRecord& owner) {
  const JobDecision decision = refusal(run, owner);
  if (record != nullptr) {
    end_refused(*record, run, decision.reason);
    try {
      log.write();
    } catch (const Error& e) {
      log::warning("{}", e.what());
    }
  }
  print_decision(decision, {});
  return 0;
}

/// What was decided before, by a question that was killed before it could answer. Nothing that came since changes it.
int stop_again(const LaunchRecord& record, const std::string& run) {
  const JobDecision decision{JobAction::stop, record.launch.reason};
  note_end(run, decision);
  print_decision(decision, {});
  return 0;
}

int after(const JobOptions& o) {
  JobFacts facts = facts_of(o);
  LaunchLog log(o.run_dir);
  LaunchRecord* record = log.running(o.job);
  if (record == nullptr) record = log.decided(o.job);
  auto other = another_run(o);
  if (!other && record != nullptr) other = owner_since(*record, o.run_dir);
  if (other) return after_refusal(log, record, o.run_dir, *other);
  if (record == nullptr) {
    throw usage_error("job", "{}/job/launches: no launch of job {} is under way", o.run_dir, o.job);
  }
  if (record->action == name_of(JobAction::stop)) return stop_again(*record, o.run_dir);
  record->action.clear();  // decided before: anew, since the job may have been told to end since then
  if (o.launcher_code == "none") {
    end_unstarted(*record, o.run_dir, facts.terminated);
  } else {
    end_launch(*record, o.run_dir, o.launcher_code, o.said);
  }
  // Slurm does not say it any more once the job is back in the queue.
  const auto told = told_to_end(o.run_dir, o.job);
  facts.timed_out = facts.timed_out || (told && told->at_limit);
  // With spares the job outlives its nodes: only one that is back in the queue was ended for it.
  if (facts.requeued && tells_of_failed_node(read_text_file(o.said).value_or(""))) {
    facts.node_failed = true;
  }
  facts.last = record->launch;
  facts.checkpoint = record->checkpoint_after;
  facts.fruitless = log.fruitless();
  JobDecision decision = decide(facts);
  // The launch is asked after again, then.
  if (decision.action != JobAction::look_again) record->action = name_of(decision.action);
  if (decision.action == JobAction::stop) record->launch.reason = reason_of_end(decision, record->launch.reason);
  try {
    log.write();
  } catch (const Error& e) {  // a full disk: nothing that comes next could be kept
    decision = {JobAction::stop, fmt::format("{}; {}", e.what(), facts.last.reason)};
  }
  if (decision.action == JobAction::stop) note_end(o.run_dir, decision);
  print_decision(decision, {});
  return 0;
}

}  // namespace

int run_job(const std::vector<std::string>& arguments) {
  const bool asks_for_help = !arguments.empty() && (arguments.back() == "--help" || arguments.back() == "-h");
  if (!arguments.empty() && arguments[0] == "hosts" && !asks_for_help) return list_hosts(arguments);
  JobOptions o;
  Schema schema;
  declare(schema, o);
  if (!parse_words(arguments, job_usage, schema, "when", 1)) return 0;
  if (o.when == "before") return before(o);
  if (o.when == "after") return after(o);
  if (o.when == "refused") return refused(o);
  if (o.when == "rest") return rest(o);
  throw usage_error("job", "\"{}\": expected before, after, refused, rest or hosts; octet job --help", o.when);
}

}  // namespace octet
