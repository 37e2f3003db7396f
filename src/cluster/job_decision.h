#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"

namespace octet {

/// One attempt to run: what stands in RUN/job/launches.jsonl of it.
struct Launch {
  std::string job{};         ///< Slurm's id
  std::string checkpoint{};  ///< the newest committed one before it, empty for none
  std::string state{};  ///< status.json's when it had ended; empty where nothing was started, or it was not heard of
  std::string reason{};
  int exit_code = 0;

  bool operator==(const Launch&) const = default;
};

/// All that the decision looks at.
struct JobFacts {
  bool launched = true;       ///< false: the nodes were looked at, and the next launch is in question
  Launch last{};              ///< what has just ended, when launched
  std::string checkpoint{};   ///< the newest committed one now
  int fruitless = 0;          ///< launches in a row, the last one among them, that left no new checkpoint
  int max_restarts = 3;       ///< of such launches, that are tried again
  bool terminated = false;    ///< the batch shell itself was told to end (scancel)
  bool preempted = false;     ///< Slurm's PreemptTime has come
  bool timed_out = false;     ///< Slurm ends the job at a limit: its time's, its account's or its reservation's
  bool node_failed = false;   ///< Slurm ends the job since a node of it failed, by its own words or by srun's
  bool requeued = false;      ///< Slurm has already put the job back into the queue, and ends what is left of it
  bool slurm_answers = true;  ///< false: what Slurm could have said of the job is not known
  bool time_is_over = false;  ///< the batch shell has got the signal before the time limit
  int successors = 0;         ///< jobs in the queue that wait for this one's end to go on with the same run
  double seconds_left = 1e9;  ///< of the allocation
  double seconds_needed = 0;  ///< without which a restart within it makes no sense
  int nodes_wanted = 1;
  std::vector<std::string> healthy{};    ///< nodes of the allocation that passed the preflight, in rank order
  std::vector<std::string> silent{};     ///< those that did not answer, or that Slurm has down
  std::vector<std::string> unhealthy{};  ///< those that answered with findings, or that an earlier launch left out
  std::string in_common{};               ///< findings that all nodes share, which other nodes would have too
  std::vector<std::string> unchecked{};  ///< those on which the check itself failed
};

enum class JobAction : std::uint8_t {
  launch,      ///< start the training on the first nodes_wanted of the healthy nodes
  restart,     ///< look at the nodes again, then launch
  hand_over,   ///< end: a job that waits for this one goes on with the run (a chain)
  requeue,     ///< give the allocation back and ask Slurm for another one for the same job
  exclude,     ///< the same without the nodes that are named
  wait,        ///< Slurm is taking the nodes away: have it put the job back into the queue where it would not by itself
  look_again,  ///< Slurm does not answer, and what comes next hangs on what it would say: ask the same in a while
  finish,      ///< the run has all its steps
  stop,        ///< a person is needed: the reason says why
};

constexpr auto names_of(JobAction) {
  return std::to_array<std::string_view>(
      {"launch", "restart", "hand_over", "requeue", "exclude", "wait", "look_again", "finish", "stop"});
}

struct JobDecision {
  JobAction action = JobAction::stop;
  std::string reason{};
  std::vector<std::string> exclude{};  ///< nodes
};

/// What a job does next. A pure function: the job script carries it out and decides nothing. The rules, first match:
///  1. finished: finish.
///  2. It is preempted, or told to end since it is back in the queue: wait, since Slurm starts it again. Told to end
///     since a node of it failed: requeue, and it counts as a launch that failed, for the run may be what took the node
///     down. Told to end, itself or its ranks, while Slurm does not say why: look again, since it may be either. Told
///     to end at a limit: as 5. Told to end before: it was cancelled, stop, whatever else is true.
///  3. A usage error (64), something not finite (77), a stop file, SIGINT: stop; another start would end the same way,
///     or was not asked for. So does SIGTERM from whomever.
///  4. More launches without a new checkpoint than are allowed: stop (crash loop).
///  5. Stopped and resumable for its time limit (SIGUSR1, train.max_wall_time): hand over to the next job of a chain,
///     or requeue.
///  6. A failed or lost launch (70, 71, 76, killed): restart within the allocation if there is time, else as 5.
///  7. Before a launch: a check that could not be made, or the same findings on every node: stop; no time left: as 5;
///     too few healthy nodes: exclude those that have findings, or that an earlier launch has left out, or requeue
///     where nodes are only silent, which Slurm finds out by itself, or look again where Slurm is silent too; else
///     launch.
JobDecision decide(const JobFacts& facts);

}  // namespace octet
