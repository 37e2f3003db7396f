#include "src/owner/verdict.h"

#include <gtest/gtest.h>

#include "src/owner/evidence.h"
#include "src/owner/told_to_end.h"

namespace octet {
namespace {

const JobLaunch nothing{}, launch_2{.cluster = "c", .id = "7", .restart = 1, .launch = 2};

JobLaunch launch(int restart, int number, const char* id = "7", const char* cluster = "c") {
  return {.cluster = cluster, .id = id, .restart = restart, .launch = number};
}

struct Row {
  const char* name;
  JobLaunch of_owner;
  JobLaunch mine;
  OwnerEvidence seen;
  OwnerState state;
  bool asks_slurm = false;
  bool released = false;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class JudgeOwner : public testing::TestWithParam<Row> {};

TEST_P(JudgeOwner, FollowsTheTable) {
  const Row& row = GetParam();
  const OwnerRecord owner{.name = "n1-5-a", .released = row.released, .job = row.of_owner};
  EXPECT_EQ(judge_owner(owner, row.mine, row.seen, 600), row.state);
  EXPECT_EQ(needs_slurm(owner, row.mine, row.seen, 600), row.asks_slurm);
}

INSTANTIATE_TEST_SUITE_P(
    Owners, JudgeOwner,
    testing::Values(
        Row{"nothing_is_known", nothing, nothing, {}, OwnerState::at_work},
        Row{"released", nothing, nothing, {.process_lives = true}, OwnerState::released, false, true},
        Row{"its_process_lives", nothing, nothing, {.process_lives = true, .age_seconds = 3}, OwnerState::at_work},
        Row{"its_process_is_gone",
            nothing,
            nothing,
            {.process_lives = false, .age_seconds = 3},
            OwnerState::no_process},
        Row{"young", nothing, nothing, {.age_seconds = 599}, OwnerState::at_work},
        Row{"old", nothing, nothing, {.age_seconds = 601}, OwnerState::silent},
        Row{"old_though_its_process_is_there",
            nothing,
            nothing,
            {.process_lives = true, .age_seconds = 601},
            OwnerState::silent},
        Row{"of_the_future", nothing, nothing, {.age_seconds = -1e6}, OwnerState::at_work},
        Row{"an_earlier_launch", launch(1, 1), launch_2, {.process_lives = true}, OwnerState::earlier_launch},
        Row{"an_earlier_restart", launch(0, 5), launch_2, {}, OwnerState::earlier_launch},
        Row{"the_same_launch", launch(1, 2), launch_2, {}, OwnerState::at_work, true},
        Row{"a_later_launch", launch(1, 3), launch_2, {}, OwnerState::at_work, true},
        Row{"a_later_restart", launch(2, 1), launch_2, {}, OwnerState::at_work, true},
        Row{"a_launch_of_another_job", launch(0, 1, "8"), launch_2, {}, OwnerState::at_work, true},
        Row{"that_job_of_another_cluster", launch(0, 1, "7", "d"), launch_2, {}, OwnerState::at_work, true},
        Row{"no_jobs_are_no_launches", nothing, launch(0, 1, ""), {}, OwnerState::at_work},
        Row{"its_job_is_over", launch(1, 2), nothing, {.job_over = true, .age_seconds = 3}, OwnerState::job_over},
        Row{"its_job_goes_on", launch(1, 2), nothing, {.job_over = false, .age_seconds = 3}, OwnerState::at_work},
        Row{"its_job_goes_on_and_it_is_old",
            launch(1, 2),
            nothing,
            {.job_over = false, .age_seconds = 700},
            OwnerState::silent},
        Row{"a_process_that_is_seen_outweighs_slurm",
            launch(1, 2),
            nothing,
            {.process_lives = true, .job_over = true, .age_seconds = 3},
            OwnerState::at_work},
        Row{"slurm_is_not_asked_of_what_is_seen", launch(1, 2), nothing, {.process_lives = true}, OwnerState::at_work},
        Row{"nor_of_what_is_gone", launch(1, 2), nothing, {.process_lives = false}, OwnerState::no_process}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Believed, ARunThatWasKilledIsLostAndOthersAreAsTheySay) {
  const OwnerStanding gone{{.host = "n1", .pid = 5}, OwnerState::no_process}, at_work{{}, OwnerState::at_work};
  const RunStatus running{.state = "running", .reason = "", .step = 3}, failed{.state = "failed", .reason = "NaN"};
  const RunStatus lost = believed(running, gone);
  EXPECT_EQ(lost.state, "lost");
  EXPECT_EQ(lost.step, 3);
  EXPECT_NE(lost.reason.find("process 5 on n1"), std::string::npos) << lost.reason;
  EXPECT_NE(lost.reason.find("no such process"), std::string::npos) << lost.reason;
  EXPECT_EQ(believed(running, at_work).state, "running");
  EXPECT_EQ(believed(running, std::nullopt).state, "running");
  EXPECT_EQ(believed(failed, gone).reason, "NaN");
}

TEST(Believed, ARunWhoseJobWasToldToEndIsStoppedWhereItSaysNothingItself) {
  OwnerStanding told{{.host = "n1", .pid = 5, .since = "2026-11-22T10:00:00Z"}, OwnerState::no_process};
  told.told = "job 7 was cancelled at 2026-11-22T10:00:05Z";
  const RunStatus running{.state = "running", .reason = "", .step = 3, .time = "2026-11-22T10:00:02Z"};
  const RunStatus stopped = believed(running, told);
  EXPECT_EQ(stopped.state, "stopped");
  EXPECT_EQ(stopped.step, 3);
  EXPECT_TRUE(stopped.reason.starts_with(*told.told + "; its ranks were killed before they could save anything ("))
      << stopped.reason;
  const RunStatus of_an_earlier_start{
      .state = "failed", .reason = "NaN", .checkpoint = "/r/checkpoints/step-000007", .time = "2026-11-22T09:59:00Z"};
  EXPECT_EQ(believed(of_an_earlier_start, told).reason, killed_unsaved(*told.told, of_an_earlier_start.checkpoint));
  EXPECT_NE(killed_unsaved(*told.told, of_an_earlier_start.checkpoint), killed_unsaved(*told.told, ""));
  const RunStatus saved{.state = "stopped", .reason = "SIGTERM", .time = "2026-11-22T10:00:07Z"};
  EXPECT_EQ(believed(saved, told).reason, "SIGTERM") << "it could say so itself";
  told.owner.released = true;
  EXPECT_EQ(believed(of_an_earlier_start, told).reason, "NaN") << "it was not killed";
}

}  // namespace
}  // namespace octet
