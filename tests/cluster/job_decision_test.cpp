#include "src/cluster/job_decision.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>

#include "src/cluster/slurm_job.h"

namespace octet {
namespace {

struct Row {
  const char* name;
  JobFacts facts;
  JobAction action;
  const char* reason;  ///< part of it
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

Launch ended(const char* state, const char* reason, int code) {
  return {.job = "7", .checkpoint = "step-10", .state = state, .reason = reason, .exit_code = code};
}

JobFacts after(const Launch& last) {
  return {.last = last, .checkpoint = "step-20", .seconds_needed = 360, .nodes_wanted = 2};
}

JobFacts with(JobFacts facts, const std::function<void(JobFacts&)>& change) {
  change(facts);
  return facts;
}

JobFacts before(std::vector<std::string> healthy, std::vector<std::string> silent, std::vector<std::string> unhealthy) {
  return {.launched = false,
          .nodes_wanted = 2,
          .healthy = std::move(healthy),
          .silent = std::move(silent),
          .unhealthy = std::move(unhealthy)};
}

const Launch finished = ended("finished", "all steps done", 0), lost = ended("failed", "rank 3 lost its peer", 71),
             at_limit = ended("stopped", "SIGUSR1", 75), terminated = ended("stopped", "SIGTERM", 75);

class Decide : public testing::TestWithParam<Row> {};

TEST_P(Decide, FollowsTheTable) {
  const JobDecision decision = decide(GetParam().facts);
  EXPECT_EQ(name_of(decision.action), name_of(GetParam().action));
  EXPECT_NE(decision.reason.find(GetParam().reason), std::string::npos) << decision.reason;
}

INSTANTIATE_TEST_SUITE_P(
    Ended, Decide,
    testing::Values(
        Row{"all_steps", after(finished), JobAction::finish, "all steps done"},
        Row{"all_steps_in_spite_of_scancel", with(after(finished), [](auto& f) { f.terminated = true; }),
            JobAction::finish, "all steps done"},
        Row{"time_limit", after(at_limit), JobAction::requeue, "SIGUSR1"},
        Row{"time_limit_in_a_chain", with(after(at_limit), [](auto& f) { f.successors = 1; }), JobAction::hand_over,
            "SIGUSR1; the next job"},
        Row{"crash_in_a_chain", with(after(lost), [](auto& f) { f.successors = 1; }), JobAction::restart, "peer"},
        Row{"wall_time", after(ended("stopped", "train.max_wall_time", 75)), JobAction::requeue, "train.max_wall_time"},
        Row{"time_limit_and_scancel", with(after(at_limit), [](auto& f) { f.terminated = true; }), JobAction::stop,
            "cancelled"},
        Row{"scancel", with(after(terminated), [](auto& f) { f.terminated = true; }), JobAction::stop, "cancelled"},
        Row{"scancel_with_nothing_saved",
            with(after(ended("stopped", "SIGTERM", 143)), [](auto& f) { f.terminated = true; }), JobAction::stop,
            "cancelled"},
        Row{"preempted", with(after(terminated), [](auto& f) { f.preempted = true; }), JobAction::wait,
            "preempted; the job is put back into the queue"},
        Row{"preempted_and_killed_at_the_end_of_grace",
            with(after(lost),
                 [](auto& f) {
                   f.preempted = true;
                   f.terminated = true;
                 }),
            JobAction::wait, "preempted"},
        Row{"preempted_when_finished", with(after(finished), [](auto& f) { f.preempted = true; }), JobAction::finish,
            "all steps"},
        Row{"a_node_failed",
            with(after(terminated),
                 [](auto& f) {
                   f.terminated = true;
                   f.node_failed = true;
                 }),
            JobAction::requeue, "a node of the job failed"},
        Row{"requeued_by_slurm",
            with(after(lost),
                 [](auto& f) {
                   f.terminated = true;
                   f.requeued = true;
                 }),
            JobAction::wait, "back into the queue"},
        Row{"terminated_by_neither", after(terminated), JobAction::stop, "SIGTERM"},
        Row{"terminated_while_slurm_is_silent",
            with(after(lost),
                 [](auto& f) {
                   f.terminated = true;
                   f.slurm_answers = false;
                 }),
            JobAction::look_again, "does not say why"},
        Row{"ranks_terminated_while_slurm_is_silent", with(after(terminated), [](auto& f) { f.slurm_answers = false; }),
            JobAction::look_again, "does not say why"},
        Row{"crash_while_slurm_is_silent", with(after(lost), [](auto& f) { f.slurm_answers = false; }),
            JobAction::restart, "peer"},
        Row{"finished_while_slurm_is_silent", with(after(finished), [](auto& f) { f.slurm_answers = false; }),
            JobAction::finish, "all steps"},
        Row{"limit_reached_in_spite_of_the_signal",
            with(after(lost),
                 [](auto& f) {
                   f.terminated = true;
                   f.seconds_left = 0;
                 }),
            JobAction::requeue, "limit was reached"},
        Row{"limit_reached_in_a_chain",
            with(after(terminated),
                 [](auto& f) {
                   f.terminated = true;
                   f.seconds_left = 0;
                   f.successors = 2;
                 }),
            JobAction::hand_over, "the next job"},
        Row{"hours_or_reservation_used_up",
            with(after(lost),
                 [](auto& f) {
                   f.terminated = true;
                   f.timed_out = true;
                 }),
            JobAction::requeue, "a limit of its time, account or reservation"},
        Row{"a_limit_after_which_the_job_is_back_already",
            with(after(lost),
                 [](auto& f) {
                   f.terminated = true;
                   f.timed_out = true;
                   f.requeued = true;
                 }),
            JobAction::requeue, "a limit of its time, account or reservation"},
        Row{"crash_near_the_limit_in_a_chain",
            with(after(lost),
                 [](auto& f) {
                   f.seconds_left = 20;
                   f.seconds_needed = 100;
                   f.successors = 1;
                 }),
            JobAction::hand_over, "too few to start again"},
        Row{"stop_file", after(ended("stopped", "stop file", 75)), JobAction::stop, "stop file"},
        Row{"interrupt", after(ended("stopped", "SIGINT", 75)), JobAction::stop, "SIGINT"},
        Row{"usage", after(ended("failed", "[train] lr = -1", 64)), JobAction::stop, "lr = -1"},
        Row{"nan", after(ended("failed", "loss of step 7 is nan", 77)), JobAction::stop, "nan"},
        Row{"crash", after(ended("failed", "bug", 70)), JobAction::restart, "bug"},
        Row{"lost_peer", after(lost), JobAction::restart, "lost its peer"},
        Row{"health", after(ended("failed", "ECC", 76)), JobAction::restart, "ECC"},
        Row{"lost_peer_near_the_limit", with(after(lost), [](auto& f) { f.seconds_left = 359; }), JobAction::requeue,
            "359 s are left"},
        Row{"lost_peer_after_the_signal", with(after(lost), [](auto& f) { f.time_is_over = true; }), JobAction::requeue,
            "left"},
        Row{"third_fruitless", with(after(lost), [](auto& f) { f.fruitless = 3; }), JobAction::restart, "peer"},
        Row{"crash_loop", with(after(lost), [](auto& f) { f.fruitless = 4; }), JobAction::stop,
            "4 launches in a row left no new checkpoint (docs/problems.md, \"A crash loop\"); the last: rank 3 lost "
            "its peer"},
        Row{"limit_too_short_for_any_checkpoint", with(after(at_limit), [](auto& f) { f.fruitless = 4; }),
            JobAction::stop, "no new checkpoint"},
        Row{"no_restarts_wanted",
            with(after(lost),
                 [](auto& f) {
                   f.max_restarts = 0;
                   f.fruitless = 1;
                 }),
            JobAction::stop, "crash loop"},
        Row{"no_restarts_wanted_but_progress", with(after(lost), [](auto& f) { f.max_restarts = 0; }),
            JobAction::restart, "peer"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Nodes, Decide,
    testing::Values(
        Row{"all", before({"a", "b"}, {}, {}), JobAction::launch, "2 of the 2"},
        Row{"spare_takes_over", before({"a", "c"}, {"b"}, {}), JobAction::launch, "2 of the 2"},
        Row{"too_few_answers", before({"a"}, {"b"}, {}), JobAction::requeue, "without an answer: b"},
        Row{"too_few_answers_and_slurm_is_silent",
            with(before({"a"}, {"b"}, {}), [](auto& f) { f.slurm_answers = false; }), JobAction::look_again,
            "without an answer: b, and Slurm itself"},
        Row{"all_while_slurm_is_silent", with(before({"a", "b"}, {}, {}), [](auto& f) { f.slurm_answers = false; }),
            JobAction::launch, "2 of the 2"},
        Row{"too_few_are_healthy", before({"a"}, {}, {"b"}), JobAction::exclude, "left out by an earlier launch: b"},
        Row{"both", before({}, {"a"}, {"b"}), JobAction::exclude, "left out by an earlier launch: b"},
        Row{"check_failed", with(before({"a", "b"}, {}, {}), [](auto& f) { f.unchecked = {"b"}; }), JobAction::stop,
            "failed on b"},
        Row{"all_find_the_same", with(before({}, {}, {"a", "b"}), [](auto& f) { f.in_common = "no space"; }),
            JobAction::stop, "all nodes have the same finding, which other nodes would have too: no space"},
        Row{"no_time_left", with(before({"a", "b"}, {}, {}), [](auto& f) { f.time_is_over = true; }),
            JobAction::requeue, "time limit"},
        Row{"no_time_left_in_a_chain",
            with(before({"a", "b"}, {}, {}),
                 [](auto& f) {
                   f.time_is_over = true;
                   f.successors = 2;
                 }),
            JobAction::hand_over, "time limit"},
        Row{"cancelled", with(before({"a", "b"}, {}, {}), [](auto& f) { f.terminated = true; }), JobAction::stop,
            "cancelled"},
        Row{"crash_loop_before", with(before({"a", "b"}, {}, {}), [](auto& f) { f.fruitless = 9; }), JobAction::stop,
            "crash loop"},
        Row{"link_of_a_finished_run", with(before({"a", "b"}, {}, {}), [](auto& f) { f.last = finished; }),
            JobAction::finish, "all steps"},
        Row{"submitted_again_after_nan",
            with(before({"a", "b"}, {}, {}), [](auto& f) { f.last = ended("failed", "nan", 77); }), JobAction::launch,
            "2 of the 2"}),
    [](const auto& row) { return row.param.name; });

TEST(JobDecision, NodesWithFindingsAreThoseToExclude) {
  EXPECT_EQ(decide(before({"a"}, {"b"}, {"c", "d"})).exclude, (std::vector<std::string>{"c", "d"}));
  EXPECT_TRUE(decide(before({"a", "b"}, {}, {"c"})).exclude.empty());
}

TEST(SlurmJob, ReadsWhatScontrolPrints) {
  const SlurmJob job = parse_slurm_job(
      "JobId=2 JobName=preempt\n   JobState=RUNNING Reason=None Dependency=(null)\n"
      "   RunTime=00:00:37 TimeLimit=1-00:05:00 TimeMin=N/A\n"
      "   PreemptEligibleTime=2026-11-22T07:29:41 PreemptTime=2026-11-22T07:29:57\n");
  EXPECT_TRUE(job.preempted);
  EXPECT_FALSE(job.ending);
  EXPECT_EQ(job.seconds_left, 86400 + 300 - 37);
  EXPECT_EQ(parse_slurm_job("   RunTime=00:00:00 TimeLimit=00:05:00\n").seconds_left, 300) << "it begins";
}

/// As Slurm 22.05 showed these jobs, in partitions with PreemptMode=CANCEL and without grace, with it, and REQUEUE.
TEST(SlurmJob, OneThatAUserCancelsWithinItsGraceTimeIsNotPreempted) {
  const auto preempted = [](const char* state, const char* end, const char* preempt) {
    return parse_slurm_job(fmt::format("   JobState={} Reason=None Dependency=(null)\n"
                                       "   StartTime=2026-11-30T07:11:32 EndTime={} Deadline=N/A\n"
                                       "   PreemptEligibleTime=2026-11-30T07:11:32 PreemptTime={}\n",
                                       state, end, preempt))
        .preempted;
  };
  EXPECT_TRUE(preempted("RUNNING", "2026-11-30T07:11:50", "2026-11-30T07:11:35")) << "its grace time";
  EXPECT_TRUE(preempted("COMPLETING", "2026-11-30T07:14:36", "2026-11-30T07:14:36")) << "without grace, or after it";
  EXPECT_TRUE(preempted("COMPLETING", "2026-11-30T07:14:37", "2026-11-30T07:14:36")) << "between two seconds";
  EXPECT_FALSE(preempted("COMPLETING", "2026-11-30T07:11:42", "2026-11-30T07:11:35"));
  EXPECT_FALSE(preempted("CANCELLED", "2026-12-01T00:00:02", "2026-11-30T23:59:55"));
  EXPECT_TRUE(preempted("COMPLETING", "07:11:42", "07:11:35")) << "in a form of SLURM_TIME_FORMAT";
}

TEST(SlurmJob, WhatIsNotThereKeepsItsDefault) {
  const SlurmJob job = parse_slurm_job(
      "   RunTime=00:00:37 TimeLimit=UNLIMITED\n   PreemptEligibleTime=2026-11-22T07:29:41 PreemptTime=None\n");
  EXPECT_FALSE(job.preempted);
  EXPECT_EQ(job.seconds_left, SlurmJob{}.seconds_left);
  EXPECT_FALSE(parse_slurm_job("").preempted);
  EXPECT_TRUE(parse_slurm_job("   JobState=COMPLETING Reason=None\n").ending);
  EXPECT_EQ(node_list("   ReqNodeList=v9 ExcNodeList=v8\n   NodeList=v[1-2]\n   BatchHost=v1\n"), "v[1-2]");
  EXPECT_EQ(node_list("   NodeList=(null)\n"), "");
}

TEST(SlurmJob, WhetherProcessesOfItAreLeft) {
  for (const char* state : {"RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "NEW_STATE"}) {
    EXPECT_FALSE(parse_slurm_job(fmt::format("   JobState={} Reason=None\n", state)).over) << state;
  }
  for (const char* state : {"PENDING", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
                            "RESV_DEL_HOLD", "STAGE_OUT"}) {
    EXPECT_TRUE(parse_slurm_job(fmt::format("   JobState={} Reason=None\n", state)).over) << state;
  }
  const auto reservation_lost = [](const char* nodes) {
    return parse_slurm_job(
        fmt::format("   JobState=RESV_DEL_HOLD Reason=Reservation_(null)_is_invalid\n   NodeList={}\n", nodes));
  };
  EXPECT_TRUE(reservation_lost("").over);
  EXPECT_TRUE(reservation_lost("(null)").over);
  EXPECT_FALSE(reservation_lost("n[1-2]").over) << "it runs";
  EXPECT_FALSE(parse_slurm_job("").known);
  EXPECT_FALSE(parse_slurm_job("").over);
  EXPECT_EQ(parse_slurm_job("   JobState=RUNNING Reason=None\n   Requeue=1 Restarts=3 BatchFlag=2\n").restarts, 3);
}

TEST(SlurmJob, AFailedNodeInTheWordsOfAStep) {
  EXPECT_TRUE(tells_of_failed_node("step: 7\nsrun: error: Node failure on v4\n"));
  EXPECT_TRUE(
      tells_of_failed_node("error: *** STEP 2.0 ON v3 CANCELLED AT 2026-11-30T02:18:13 DUE TO NODE FAILURE, SEE"));
  EXPECT_FALSE(
      tells_of_failed_node("error: *** STEP 3.0 ON v5 CANCELLED AT 2026-11-30T02:17:46 DUE TO JOB REQUEUE ***"));
}

TEST(SlurmJob, AFailedNodeAndACancellation) {
  EXPECT_TRUE(parse_slurm_job("   JobState=COMPLETING Reason=NodeDown Dependency=(null)\n").node_failed);
  EXPECT_TRUE(parse_slurm_job("   JobState=NODE_FAIL Reason=None\n").node_failed);
  EXPECT_FALSE(parse_slurm_job("   JobState=CANCELLED Reason=None\n").node_failed);
  EXPECT_TRUE(parse_slurm_job("   JobState=COMPLETING Reason=TimeLimit Dependency=(null)\n").timed_out);
  EXPECT_TRUE(parse_slurm_job("   JobState=TIMEOUT Reason=None\n").timed_out);
  EXPECT_FALSE(parse_slurm_job("   JobState=COMPLETING Reason=None\n").timed_out);
  EXPECT_TRUE(parse_slurm_job("   JobState=FAILED Reason=NonZeroExitCode\n").failed);
  EXPECT_FALSE(parse_slurm_job("   JobState=COMPLETED Reason=None\n").failed);
  EXPECT_TRUE(parse_slurm_job("   JobState=CANCELLED Reason=Dependency\n   NodeList=(null)\n").cancelled_unbegun);
  EXPECT_TRUE(parse_slurm_job("   JobState=CANCELLED Reason=None\n   NodeList=\n").cancelled_unbegun);
  EXPECT_FALSE(parse_slurm_job("   JobState=CANCELLED Reason=None\n   NodeList=v1\n").cancelled_unbegun);
}

}  // namespace
}  // namespace octet
