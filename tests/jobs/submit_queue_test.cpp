// octet submit and jobs that wait in Slurm's queue.
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

TEST_F(Submit, AsksNothingOfJobsThatWait) {
  ASSERT_EQ(submit_run("--chain 2 --checkpoint.interval 5").exit_code, 0);
  program("scontrol", "#!/bin/bash\necho \"scontrol $*\" >>\"$FAKE/calls\"\n");
  write_bytes(fake / "queue",
              fmt::format("102|PENDING, 0:00 of 30:00, 2 nodes (Dependency)|{}|{}/job.sh\n", name_of("102"), file("")));
  submit("status " + directory);
  expect_in("scontrol show job 101", read("calls"));
  expect_not_in("scontrol show job 102", read("calls"));
}

TEST_F(Submit, SaysHowAJobThatIsHeldGoesOn) {
  ASSERT_EQ(submit_run().exit_code, 0);
  for (const auto& [why, held] : {std::pair{"(JobHeldUser)", true},
                                  {"(JobHoldMaxRequeue)", true},
                                  {"(launch failed requeued held)", true},
                                  {"(job requeued in held state)", true},
                                  {"(job requeued in special exit state)", true},
                                  {"(Dependency)", false}}) {
    write_bytes(fake / "queue",
                fmt::format("101|PENDING, 0:00 of 30:00, 2 nodes {}|{}|{}/job.sh\n", why, name_of("101"), file("")));
    const std::string out = submit("status " + directory).out;
    EXPECT_EQ(lines_with("`scontrol release 101` (docs/problems.md, \"A job is held\")", out), held ? 1 : 0) << out;
  }
  write_bytes(fake / "queue", fmt::format("101|PENDING, 0:00 of 30:00, 2 nodes (BadConstraints)|{}|{}/job.sh\n",
                                          name_of("101"), file("")));
  expect_in("(BadConstraints): `scontrol update JobId=101 ExcNodeList=` (docs/problems.md, \"A job is held\")",
            submit("status " + directory).out);
}

/// One that was released keeps that state until it begins.
TEST_F(Submit, SaysHowAJobOfAReservationThatHasEndedGoesOn) {
  ASSERT_EQ(submit_run().exit_code, 0);
  for (const auto& [why, command] : {std::pair{"Reservation ai was deleted", "scontrol release 101"},
                                     {"ReservationDeleted", "scontrol release 101"},
                                     {"Reservation ai is invalid", "scontrol update JobId=101 ReservationName=NAME"},
                                     {"Dependency", ""}}) {
    write_bytes(fake / "queue", fmt::format("101|RESV_DEL_HOLD, 0:00 of 30:00, 2 nodes ({})|{}|{}/job.sh\n", why,
                                            name_of("101"), file("")));
    const std::string out = submit("status " + directory).out;
    expect_in(*command == '\0' ? fmt::format("({})\n", why) : fmt::format("({}): `{}` (docs/", why, command), out);
  }
}

/// sbatch --test-only looks at no node that is down or drained; the queue waits for it.
TEST_F(Submit, LeavesItToTheQueueWhetherThereAreNodes) {
  const CommandResult r = submit_run("", "FAKE_DRAINED=1");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("the job cannot start on the nodes that are up now, and may wait for others", r.err);
  expect_in("submitted 101", r.out);
}

}  // namespace
}  // namespace octet::test
