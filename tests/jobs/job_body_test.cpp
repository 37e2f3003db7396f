// Parts of a job's script, against programs that stand in for Slurm's: what it takes of their answers.
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

/// Functions of slurm/train-body in a shell of a test's own. Calls of Slurm's commands are noted in `calls`.
class JobBody : public Submit {
 protected:
  void SetUp() override {
    const std::string called = "#!/bin/bash\necho \"${0##*/} $*\" >>\"$FAKE/calls\"\n";
    program("squeue", called + "cat \"$FAKE/queue\"\n");
    program("scancel", called);
    program("scontrol", called +
                            "case $1 in\n"
                            "  show) cat \"$FAKE/shown\" ;;\n"
                            "  requeue) [[ ! -s $FAKE/refuses ]] || { cat \"$FAKE/refuses\" >&2 && exit 1; } ;;\n"
                            "esac\n");
    for (const char* name : {"queue", "shown", "refuses"}) write_bytes(fake / name, "");
  }
  CommandResult body(const std::string& commands) const {
    const std::string parts = OCTET_SOURCE_DIR "/slurm/train-body/";
    write_bytes(fake / "test.sh",
                "work=$FAKE run_dir=$FAKE SLURM_JOB_ID=7 SLURM_JOB_NAME=name poll_seconds=1 action=stop steps=9\n"
                "terminated='' container_options=()\n"
                "say() { echo \"$*\"; }\nslurm() { timeout 30 \"$@\"; }\n"
                "for n in 2-signals 3-waiting 4-slurm 5-nodes; do source " +
                    parts + "$n.sh; done\nsource <(sed '/^say \"nodes/,$d' " + parts + "7-decide.sh)\n" + commands +
                    "\n");
    return run_command(fmt::format("export FAKE={0} PATH={0}/bin:/usr/bin:/bin && exec bash {0}/test.sh", fake.path()));
  }
};

TEST_F(JobBody, AHeldJobIsNoSuccessor) {
  write_bytes(fake / "queue",
              "7 BeginTime\n8 Dependency\n9 JobHeldUser\n10 launch failed requeued held\n11 JobHeldAdmin\n"
              "12 JobHoldMaxRequeue\n");
  EXPECT_EQ(body("successors").out, "8\n");
}

TEST_F(JobBody, IsBackInTheQueueWhereSlurmCallsItPending) {
  for (const auto& [refusal, back] : {std::pair{"", "yes\n"},
                                      {"Job is pending execution for the job specified\n", "yes\n"},
                                      {"Requested operation is presently disabled\n", "no\n"}}) {
    write_bytes(fake / "refuses", refusal);
    EXPECT_EQ(body("come_back && echo yes || echo no").out, back) << refusal;
  }
}

/// A user's scancel shows no reason.
TEST_F(JobBody, AsksToComeBackWhereSlurmEndsItAtALimitOrForAnotherJob) {
  struct Case {
    const char *reason, *preempted, *queue;
    bool asks;
  };
  for (const Case& c : {Case{"TimeLimit", "None", "", true}, Case{"TimeLimit", "None", "8 Dependency\n", false},
                        Case{"TimeLimit", "None", "8 JobHeldUser\n", true},
                        Case{"None", "2026-11-28T18:03:20", "8 Dependency\n", true}, Case{"None", "None", "", false}}) {
    write_bytes(fake / "calls", "");
    write_bytes(fake / "queue", c.queue);
    write_bytes(fake / "shown", fmt::format("   JobState=COMPLETING Reason={} Dependency=(null)\n   PreemptTime={}\n",
                                            c.reason, c.preempted));
    body("echo now >$work/told-to-end; note_why");
    EXPECT_EQ(lines_with("scontrol requeue 7", read("calls")), c.asks ? 1 : 0) << c.reason << c.preempted << c.queue;
    EXPECT_EQ(read("told-to-end"), "now\n" + read("shown"));
  }
}

/// In pyxis' containers octet is a step, whose TaskProlog prints first.
TEST_F(JobBody, RunsNothingOfWhatASitePrints) {
  const std::string octet = fake / "bin/octet";
  program("octet",
          "#!/bin/bash\necho \"touch $FAKE/ran\"; echo 'Welcome to node 4'; echo 8; echo \"reason='as it is'\"\n");
  const CommandResult r =
      body("octet=" + octet + "; facts() { $octet; }; need_directory() { :; }; ask after; echo \"$reason\"");
  EXPECT_EQ(r.out, "as it is\n") << r.err;
  EXPECT_FALSE(std::filesystem::exists(fake / "ran"));
  write_bytes(fake / "queue", "7 None\n8 Dependency\n");
  body("octet=" + octet + "; cancel_rest");
  EXPECT_EQ(lines_with("scancel", read("calls")), 1);
  expect_in("scancel 8\n", read("calls"));
}

/// pyxis imports the image within the first look.
TEST_F(JobBody, TheLookHasTimeForAnImageAndSaysWhatItWaitedFor) {
  for (const auto& [options, seconds] : {std::pair{"", 300}, {"--container-image=a", 1800}}) {
    const CommandResult r =
        body(fmt::format("container_options=({}) present=v1 preflight=0 ranks_per_node=1 cpus_per_rank=1\n"
                         "run() {{ echo \"importing for $1 s\"; return 137; }}; look_at_nodes",
                         options));
    EXPECT_EQ(r.out, fmt::format("the check of the nodes was ended after {0} s: importing for {0} s\n", seconds))
        << r.err;
  }
}

}  // namespace
}  // namespace octet::test
