#include "src/cluster/job_decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "src/base/error.h"
#include "src/cluster/slurm_job.h"

namespace octet {
namespace {

bool is(const Launch& launch, ExitCode code) {
  return launch.exit_code == static_cast<int>(code);
}

bool asked_for_an_end(const Launch& launch) {
  const bool asked = launch.reason == "stop file" || launch.reason == "SIGINT" || launch.reason == "SIGTERM";
  return launch.state == "stopped" && asked;
}

bool at_its_time_limit(const Launch& launch) {
  return launch.state == "stopped" && (launch.reason == "SIGUSR1" || launch.reason == "train.max_wall_time");
}

/// By Slurm, or by a person. Before it takes nodes away Slurm may tell the ranks alone.
bool told_to_end(const JobFacts& f) {
  return f.terminated || (f.launched && f.last.state == "stopped" && f.last.reason == "SIGTERM");
}

std::string count_of(const std::vector<std::string>& nodes, int wanted) {
  return fmt::format("{} of the {} nodes wanted are healthy", nodes.size(), wanted);
}

JobDecision at_time_limit(const JobFacts& f, std::string reason) {
  if (f.successors == 0) return {JobAction::requeue, std::move(reason)};
  return {JobAction::hand_over, reason + "; the next job of the chain goes on"};
}

JobDecision before_launch(const JobFacts& f) {
  if (!f.unchecked.empty()) {
    return {JobAction::stop, fmt::format("octet doctor itself failed on {}; its output is in RUN/job/ID/preflight",
                                         fmt::join(f.unchecked, ", "))};
  }
  if (!f.in_common.empty())
    return {JobAction::stop, "all nodes have the same finding, which other nodes would have too: " + f.in_common};
  if (f.time_is_over) return at_time_limit(f, "the time limit is near");
  if (std::ssize(f.healthy) >= f.nodes_wanted) {
    return {JobAction::launch, count_of(f.healthy, f.nodes_wanted)};
  }
  const std::string few = count_of(f.healthy, f.nodes_wanted);
  if (!f.unhealthy.empty()) {
    return {JobAction::exclude,
            fmt::format(
                "{} (docs/problems.md, \"Too few healthy nodes\"); with findings, or left out by an earlier launch: {}",
                few, fmt::join(f.unhealthy, ", ")),
            f.unhealthy};
  }
  const std::string silent = fmt::format("{}; without an answer: {}", few, fmt::join(f.silent, ", "));
  if (!f.slurm_answers) return {JobAction::look_again, silent + ", and Slurm itself"};
  return {JobAction::requeue, silent};
}

JobDecision after_launch(const JobFacts& f) {
  const Launch& last = f.last;
  if (at_its_time_limit(last)) return at_time_limit(f, "stopped by " + last.reason);
  if (f.time_is_over || f.seconds_left < f.seconds_needed) {
    return at_time_limit(f, fmt::format("{} s are left, too few to start again after: {}",
                                        static_cast<std::int64_t>(f.seconds_left), last.reason));
  }
  return {JobAction::restart, last.reason};
}

}  // namespace

JobDecision decide(const JobFacts& f) {
  if (f.last.state == "finished") return {JobAction::finish, "all steps done"};
  if (f.preempted) return {JobAction::wait, "preempted; the job is put back into the queue"};
  if (f.terminated && f.node_failed) return {JobAction::requeue, "a node of the job failed"};
  if (f.terminated && ended_at_limit(f.seconds_left)) return at_time_limit(f, "the time limit was reached");
  if (f.terminated && f.timed_out) {
    return at_time_limit(f, "Slurm ended the job at a limit of its time, account or reservation");
  }
  if (f.terminated && f.requeued) return {JobAction::wait, "Slurm has put the job back into the queue"};
  if (told_to_end(f) && !f.slurm_answers) {
    return {JobAction::look_again, "the job was told to end, and Slurm does not say why"};
  }
  if (f.terminated) return {JobAction::stop, "the job was cancelled"};
  if (f.launched && (is(f.last, ExitCode::usage) || is(f.last, ExitCode::non_finite) || asked_for_an_end(f.last))) {
    return {JobAction::stop, f.last.reason};
  }
  if (f.fruitless > f.max_restarts) {
    return {JobAction::stop, fmt::format("crash loop: {} launches in a row left no new checkpoint (docs/problems.md, "
                                         "\"A crash loop\"); the last: {}",
                                         f.fruitless, f.last.reason)};
  }
  return f.launched ? after_launch(f) : before_launch(f);
}

}  // namespace octet
