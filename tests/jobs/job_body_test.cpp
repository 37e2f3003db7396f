// Parts of a job's script, against programs that stand in for Slurm's: what it takes of their answers.
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

/// Functions of slurm/train-body in a shell of a test's own. Calls of Slurm's commands are noted in `calls`.
class JobBody : public Submit {
 protected:
  void SetUp() override {
    const std::string called = "#!/bin/bash\necho \"${0##*/} $*\" >>\"$FAKE/calls\"\n";
    program("squeue", called +
                          "case $* in\n"
                          "  *'%P %v') cat \"$FAKE/asked\" ;;\n"
                          "  *%D) echo 2 ;;\n"
                          "  *%x) echo '(null)' ;;\n"
                          "  *) cat \"$FAKE/queue\" ;;\n"
                          "esac\n");
    program("scancel", called);
    program("sbatch", called + "echo 9\n");
    // As where a site's commands are slow, and Slurm tells them to end once a job is back in the queue.
    program("scontrol", called +
                            "case $1 in\n"
                            "  show) [[ $2 == job ]] || exec cat \"$FAKE/$2\"; sleep 0.5; cat \"$FAKE/shown\" ;;\n"
                            "  requeue) [[ ! -s $FAKE/refuses ]] || { cat \"$FAKE/refuses\" >&2 && exit 1; } ;;\n"
                            "  update) ! grep -q requeue \"$FAKE/calls\" || kill -TERM $$ ;;\n"
                            "esac\n");
    for (const char* name : {"queue", "shown", "refuses", "job.sh"}) write_bytes(fake / name, "");
    write_bytes(fake / "asked", "main (null)\n");
    write_bytes(fake / "partition", "PartitionName=main\n   AllocNodes=ALL\n   Nodes=v[1-4]\n   TotalNodes=4\n");
  }
  CommandResult body(const std::string& commands) const {
    write_bytes(fake / "test.sh",
                "work=$FAKE run_dir=$FAKE said=$FAKE/said SLURM_JOB_ID=7 SLURM_JOB_NAME=name poll_seconds=1 steps=9\n"
                "terminated='' container_options=() nodes=2 spares=0 octet=" OCTET_BIN_DIR
                "/octet\n"
                "say() { echo \"$*\"; }\nslurm() { timeout 30 \"$@\"; }\nslurm_seconds=30\n"
                "source <(sed -n '/^end_for/,/^}/p' " +
                    parts +
                    "1-begin.sh)\n"
                    "for n in 2-signals 3-waiting 4-slurm 5-nodes; do source " +
                    parts + "$n.sh; done\nsource <(sed '/^say \"nodes/,$d' " + parts + "7-decide.sh)\naction=stop\n" +
                    commands + "\n");
    return run_command(fmt::format("export FAKE={0} PATH={0}/bin:/usr/bin:/bin && exec bash {0}/test.sh", fake.path()));
  }
  /// The part that carries out what was decided. What octet is asked is printed; Slurm ends the script at once.
  CommandResult carried_out(const std::string& decided) const {
    return body(
        "for n in need_directory need_room nodes_now look_at_nodes; do eval \"$n() { :; }\"; done\n"
        "octet=echo; wait_for_slurm() { exit 0; }; ask() { reason=why; " +
        decided + "; }; source <(sed -n '/^say \"nodes/,$p' " + parts + "7-decide.sh)");
  }
  /// Without node v1.
  CommandResult left_out() const { return body("exclude=v1 reason=why; wait_for_slurm() { exit 0; }; go_on_without"); }

  const std::string parts = OCTET_SOURCE_DIR "/slurm/train-body/";
};

TEST_F(JobBody, AHeldJobIsNoSuccessor) {
  write_bytes(fake / "queue",
              "7 BeginTime\n8 Dependency\n9 JobHeldUser\n10 launch failed requeued held\n11 JobHeldAdmin\n"
              "12 JobHoldMaxRequeue\n");
  EXPECT_EQ(body("successors").out, "8\n");
  for (const char* why : {"job requeued in held state", "job requeued in special exit state"}) {
    write_bytes(fake / "queue", fmt::format("7 None\n8 {}\n9 Dependency\n", why));
    EXPECT_EQ(body("successors; is_one_held && echo held").out, "held\n") << why;
  }
}

/// Slurm calls the reservation of such a job invalid, too (23.11 to 25.05); squeue's last column has its nodes.
TEST_F(JobBody, AJobThatHasNodesDoesNotWait) {
  write_bytes(fake / "queue",
              "5 Reservation (null) is invalid|v1\n6 Reservation ai is invalid|v[1-2]\n7 None|v3\n8 Dependency|\n");
  EXPECT_EQ(body("waiting; successors; is_one_held && echo held").out, "8 Dependency\n8\n");
  expect_in("--format=%A %r|%N\n", read("calls"));
  program("squeue", "#!/bin/bash\nexit 1\n");
  EXPECT_EQ(body("set -o pipefail; waiting || echo silent").out, "silent\n");
}

/// To squeue they are not pending, so that they have to be asked for by their state.
TEST_F(JobBody, AJobOfAReservationThatHasEndedIsNoSuccessorAndIsAskedFor) {
  for (const char* why : {"Reservation ai was deleted", "Reservation ai is invalid", "ReservationDeleted"}) {
    write_bytes(fake / "queue", fmt::format("7 None\n8 {}\n9 Dependency\n", why));
    EXPECT_EQ(body("successors; is_one_held && echo held").out, "held\n") << why;
  }
  write_bytes(fake / "queue", "7 None\n8 Dependency\n9 Reservation\n");  // which is still to begin
  EXPECT_EQ(body("successors; is_one_held && echo held").out, "8\n9\n");
  expect_in("--states=PENDING,RESV_DEL_HOLD,SPECIAL_EXIT ", read("calls"));
}

/// Singleton lets it wait for the held one, whose number is lower.
TEST_F(JobBody, AJobBehindAHeldOneIsNoSuccessor) {
  write_bytes(fake / "queue", "11 Dependency\n7 None\n8 Dependency\n10 BadConstraints\n");
  EXPECT_EQ(body("successors").out, "8\n");
}

TEST_F(JobBody, ASickNodeIsLeftOutByANewJobOrWhereItWouldWaitForAHeldOneByThisOne) {
  write_bytes(fake / "refusal", "Requested node configuration is not available\n");  // of an earlier submission
  for (const char* waits : {"", "8 JobHeldUser\n", "8 BadConstraints\n", "8 Reservation ai was deleted\n"}) {
    write_bytes(fake / "calls", "");
    write_bytes(fake / "queue", std::string("7 None\n") + waits);
    const CommandResult r = left_out();
    EXPECT_EQ(r.exit_code, 0) << r.all();
    const std::string calls = read("calls");
    EXPECT_EQ(lines_with("sbatch --parsable --exclude=v1", calls), *waits == '\0' ? 1 : 0) << calls << r.all();
    EXPECT_EQ(lines_with("scontrol requeue 7", calls), *waits == '\0' ? 0 : 1) << calls << r.all();
    EXPECT_EQ(lines_with("scontrol update JobId=7 ExcNodeList=v1", calls), *waits == '\0' ? 0 : 1) << calls;
    EXPECT_EQ(lines_with("goes on as this job, without v1", r.out), *waits == '\0' ? 0 : 1) << r.all();
  }
}

TEST_F(JobBody, ASickNodeIsLeftOutByThisJobWhereItMaySubmitNone) {
  for (const auto& [refusal, comes_back] :
       {std::pair{"Access/permission denied", 1}, {"Requested node configuration is not available", 0}}) {
    write_bytes(fake / "calls", "");
    program("sbatch", fmt::format("#!/bin/bash\necho 'sbatch: error: {}' >&2\nexit 1\n", refusal));
    const CommandResult r = left_out();
    EXPECT_EQ(lines_with("goes on as this job, without v1", r.out), comes_back) << r.all();
    EXPECT_EQ(lines_with("scontrol requeue 7", read("calls")), comes_back) << read("calls");
  }
}

/// The option --ignore-signal of env is of 2019. Slurm's signal to the commands of a script does not end the question.
TEST_F(JobBody, ThisOneIsToldToAvoidNodesWhereEnvIsAnOlderOne) {
  program("env", "#!/bin/bash\n[[ $1 != -* ]] || exit 125\nexec /usr/bin/env \"$@\"\n");
  const CommandResult r = body("exclude=v1; come_back_without");
  expect_in("goes on as this job, without v1", r.out);
}

/// Slurm takes any list of nodes to avoid, and lets the job wait for ever.
TEST_F(JobBody, NoNodeIsLeftOutWithoutWhichTooFewAreLeft) {
  struct Case {
    const char *queue, *asked, *partition, *reservation;
    bool enough;
  };
  for (const Case& c : {Case{"", "main (null)\n", "   Nodes=v[1-2] TotalNodes=2\n", "", false},
                        Case{"8 Dependency\n", "main (null)\n", "   Nodes=v[1-2] TotalNodes=2\n", "", false},
                        Case{"8 Dependency\n", "main (null)\n", "   Nodes=v[1-3] TotalNodes=3\n", "", true},
                        Case{"", "main mine\n", "   Nodes=v[1-4]\n", "   Nodes=v[1-2] Flags=SPEC_NODES\n", false},
                        Case{"", "main mine\n", "   Nodes=v[1-4]\n", "   Nodes=v[1-2] Flags=FLEX\n", true},
                        Case{"", "", "", "", true}}) {
    write_bytes(fake / "calls", "");
    write_bytes(fake / "queue", c.queue);
    write_bytes(fake / "asked", c.asked);
    write_bytes(fake / "partition", c.partition);
    write_bytes(fake / "reservation", c.reservation);
    const CommandResult r = left_out();
    EXPECT_EQ(r.exit_code, c.enough ? 0 : 70) << r.all();
    EXPECT_EQ(lines_with("fewer nodes are left than the job needs: why", r.out), c.enough ? 0 : 1) << r.all();
    const std::string calls = read("calls");
    EXPECT_EQ(lines_with("sbatch", calls) + lines_with("scontrol update", calls), c.enough ? 1 : 0) << calls;
  }
}

/// Slurm's SIGTERM goes to all processes of the script's step.
TEST_F(JobBody, AQuestionThatWasToldToEndIsAskedAgain) {
  const CommandResult r = body(
      "need_directory() { :; }; end_for() { echo \"end: $1\"; exit 70; }\n"
      "facts() { [[ ! -e $FAKE/once ]] || { echo action=wait; return; }; touch \"$FAKE/once\"; kill -TERM $$; return "
      "143; }\n"
      "ask after; echo \"$action $knew\"");
  EXPECT_EQ(r.out, "wait --terminated\n") << r.err;
}

/// In pyxis' containers that is in vain: Slurm starts no step of a job that it ends. The requeue of a job that is
/// preempted is asked for meanwhile; Slurm may kill what is left when the script has ended.
TEST_F(JobBody, EndsWhenItHasAskedToComeBack) {
  write_bytes(fake / "shown", "   JobState=COMPLETING Reason=None\n   PreemptTime=2026-11-28T18:03:20\n");
  for (const auto& [options, says] : {std::pair{"x", "Slurm ends the job, and starts no step"},
                                      {"", "stop: octet job after failed with code 1; the job's log says why"}}) {
    write_bytes(fake / "calls", "");
    std::filesystem::remove(fake / "noted");
    const CommandResult r = body(fmt::format(
        "need_directory() {{ :; }}; container_options=({}); trap 'cp \"$FAKE/calls\" \"$FAKE/at-end\"' EXIT\n"
        "facts() {{ [[ -n $terminated ]] || kill -TERM $$; return 1; }}; octet=true; ask after",
        options));
    EXPECT_EQ(r.exit_code, 70) << r.all();
    expect_in(says, r.out);
    expect_in("scontrol requeue 7\n", read("at-end"));
  }
}

TEST_F(JobBody, AnEmptyAnswerIsNone) {
  const CommandResult r = body(
      "need_directory() { :; }; end_for() { echo \"end: $1\"; exit 70; }; facts() { :; }; action=launch; ask after");
  EXPECT_EQ(r.out, "end: octet job after failed with code 1; the job's log says why\n") << r.err;
}

/// Of the two decisions by which a job comes back; what is noted of its end is there already.
TEST_F(JobBody, AJobThatWasCancelledSinceTheDecisionIsNotPutBack) {
  write_bytes(fake / "noted", "");
  for (const char* action : {"requeue", "wait"}) {
    const CommandResult r = carried_out(fmt::format("action={} knew='' terminated=--terminated", action));
    EXPECT_EQ(r.exit_code, 0) << r.all();
    EXPECT_EQ(lines_with("requeue", read("calls")), 0) << action << read("calls");
    EXPECT_EQ(lines_with("job refused", r.out), 0) << r.all();
  }
}

TEST_F(JobBody, AJobThatIsCancelledWhileSlurmIsSilentIsNotPutBack) {
  write_bytes(fake / "noted", "");
  write_bytes(fake / "refuses", "Unable to contact slurm controller\n");
  for (const char* action : {"requeue", "wait"}) {
    write_bytes(fake / "calls", "");
    const CommandResult r =
        carried_out(fmt::format("action={} knew='' terminated=''\n"
                                "pause() {{ [[ -z $terminated ]] || exit 3; terminated=--terminated; }}",
                                action));
    EXPECT_EQ(r.exit_code, 0) << r.all();
    EXPECT_EQ(lines_with("scontrol requeue 7", read("calls")), 1) << action << read("calls");
    EXPECT_EQ(lines_with("job refused", r.out), 0) << r.all();
  }
}

TEST_F(JobBody, SaysWhereAPreemptedJobCannotComeBack) {
  for (const auto& [refusal, waits, says] : {std::tuple{"", "", 0},
                                             {"Requested operation is presently disabled\n", "", 1},
                                             {"Requested operation is presently disabled\n", "8 Dependency\n", 0}}) {
    write_bytes(fake / "refuses", refusal);
    write_bytes(fake / "queue", waits);
    const CommandResult r = carried_out("action=wait");
    EXPECT_EQ(r.exit_code, 0) << r.all();
    EXPECT_EQ(lines_with("job refused --run-dir " + fake.path() + " --job 7 --what requeue after: why", r.out), says)
        << r.all();
  }
}

/// Others may write into the run directory: a pipe without a writer would be read for ever.
TEST_F(JobBody, TakesAPipeForNoNote) {
  const CommandResult r = run_command(
      fmt::format("cd {} && mkdir -p run/job/7 && mkfifo run/job/7/told-to-end && run_dir=$PWD/run SLURM_JOB_ID=7 "
                  "timeout 20 bash -c 'source {}1-begin.sh; echo \"begun:$told\"'",
                  fake.path(), parts));
  EXPECT_EQ(r.out, "begun:\n") << r.all();
}

TEST_F(JobBody, IsBackInTheQueueWhereSlurmCallsItPending) {
  for (const auto& [refusal, back] : {std::pair{"", "yes\n"},
                                      {"Job is pending execution for the job specified\n", "yes\n"},
                                      {"Requested operation is presently disabled\n", "no\n"}}) {
    write_bytes(fake / "refuses", refusal);
    EXPECT_EQ(body("come_back && echo yes || echo no").out, back) << refusal;
  }
}

TEST_F(JobBody, DoesNotAskToComeBackWhereItIsCancelledWithinItsGraceTime) {
  for (const auto& [ended, asks] : {std::pair{"2026-11-28T18:03:20", 1}, {"2026-11-28T18:03:28", 0}}) {
    write_bytes(fake / "calls", "");
    write_bytes(fake / "shown", fmt::format("   JobState=COMPLETING Reason=None\n   StartTime=2026-11-28T17:00:00 "
                                            "EndTime={} Deadline=N/A\n   PreemptTime=2026-11-28T18:03:20\n",
                                            ended));
    body("echo now >$work/told-to-end; note_why");
    EXPECT_EQ(lines_with("scontrol requeue 7", read("calls")), asks) << ended;
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

TEST_F(JobBody, NotesThatANodeFailed) {
  write_bytes(fake / "shown", "   JobState=COMPLETING Reason=None Restarts=1\n");
  write_bytes(fake / "said", "step: 7\nsrun: error: Node failure on v4\nsrun: got SIGCONT\n");
  body("echo now >$work/told-to-end; note_why");
  EXPECT_EQ(read("told-to-end"), "now\n" + read("shown") + "srun: error: Node failure on v4\n");
}

/// In pyxis' containers octet is a step, whose TaskProlog prints first.
TEST_F(JobBody, RunsNothingOfWhatASitePrints) {
  const std::string octet = fake / "bin/octet";
  program("octet",
          "#!/bin/bash\necho \"touch $FAKE/ran\"; echo 'Welcome to node 4'; echo 8; echo action=wait; echo "
          "\"reason='as it is'\"\n");
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
