#include "src/metrics/status.h"
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

/// A submitted run that trains, and commands of Slurm whose controller does not answer.
class SubmitSilence : public Submit {
 protected:
  void SetUp() override {
    Submit::SetUp();
    ASSERT_EQ(submit_run().exit_code, 0);
    write_status(file("status.json"), {.state = "running", .reason = "", .step = 3, .steps = 20});
    write_bytes(file("metrics.jsonl"), "{\"step\": 4, \"loss\": 2.5}\n");
    write_bytes(file("job-101.out"), "one\n");
  }
  void expect_files(const CommandResult& r) const {
    for (const char* part :
         {"jobs     101\n", "running at step 4 of 20", "metrics  step 4, loss 2.5000", "job-101.out"}) {
      expect_in(part, r.out);
    }
  }
};

const std::string page = "(docs/problems.md, \"Slurm does not answer\"): ", no_answer = "Slurm did not answer " + page;
constexpr const char* no_controller = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";

TEST_F(SubmitSilence, StatusSaysWhatTheFilesSay) {
  program("squeue", fmt::format("#!/bin/bash\necho '{}' >&2\nexit 1\n", no_controller));
  program("scontrol", "#!/bin/bash\necho \"scontrol $*\" >>\"$FAKE/calls\"\nexit 1\n");
  std::filesystem::remove(file("job-101.out"));
  write_bytes(file("job-100.out"), "one\n");
  const CommandResult r = submit("status " + directory);
  EXPECT_EQ(r.exit_code, 70) << r.all();
  expect_in(fmt::format("\n         {}squeue ended with 1: {}\n", no_answer, no_controller), r.out);
  for (const char* part : {"running at step 4 of 20", "metrics  step 4, loss 2.5000", "job-100.out"}) {
    expect_in(part, r.out);
  }
  expect_not_in("scontrol", read("calls"));  // each question would take its time
}

TEST_F(SubmitSilence, StatusDoesNotWaitForAControllerThatHangs) {
  program("squeue", "#!/bin/bash\nsleep 1000\n");
  const CommandResult r = submit("status " + directory, "OCTET_TEST_SLURM_SECONDS=1");
  EXPECT_EQ(r.exit_code, 70) << r.all();
  expect_in(no_answer + "squeue did not answer in time\n", r.out);
  expect_files(r);
}

TEST_F(SubmitSilence, StatusWithoutSlurmsConfigurationToo) {
  const CommandResult r = submit("status " + directory, "&& export SLURM_CONF=/nowhere/slurm.conf");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  expect_in(no_answer + "SLURM_CONF is \"/nowhere/slurm.conf\", where there is no file", r.out);
  expect_files(r);
}

TEST_F(SubmitSilence, CancelSaysThatNothingIsKnown) {
  write_bytes(fake / "queue", fmt::format("101|RUNNING, |{}|{}/job.sh\n", name_of("101"), file("")));
  program("scancel",
          "#!/bin/bash\necho 'scancel: error: Kill job error on job id 101: Socket timed out' >&2\nexit 1\n");
  const CommandResult second = submit("cancel " + directory);
  EXPECT_EQ(second.exit_code, 70) << second.all();
  expect_in("Slurm did not cancel " + page + "scancel ended with 1: scancel: error: Kill job error on job id 101",
            second.err);
  expect_not_in("cancelled", second.out);
  program("squeue", fmt::format("#!/bin/bash\necho '{}' >&2\nexit 1\n", no_controller));
  const CommandResult first = submit("cancel " + directory);
  EXPECT_EQ(first.exit_code, 70) << first.all();
  expect_in(fmt::format("Slurm did not cancel {}squeue ended with 1: {}; jobs of ", page, no_controller), first.err);
}

}  // namespace
}  // namespace octet::test
