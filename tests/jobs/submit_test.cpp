#include <set>

#include "src/metrics/status.h"
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

/// The parts of slurm/train-body in their order, each without its first line, which is shellcheck's.
std::string body_of_jobs() {
  std::set<std::string> parts;
  for (const auto& entry : std::filesystem::directory_iterator(OCTET_SOURCE_DIR "/slurm/train-body")) {
    parts.insert(entry.path());
  }
  std::string body;
  for (const std::string& part : parts) {
    const std::string text = read_bytes(part);
    body += (body.empty() ? "" : "\n") + text.substr(text.find('\n') + 1);
  }
  return body;
}

TEST_F(Submit, DryRunShowsEveryFileAndWritesNothing) {
  const CommandResult r = submit_run(
      "--dry-run --spares 1 --time 1:00:00 --exclude 'v[3-4]' --after 55 --train.steps 7 --chain 2 "
      "--checkpoint.interval 5 --cluster.software.container '[in, image]'");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  const std::string script = printed_file(r.out, "job.sh");
  EXPECT_TRUE(script.starts_with("#!/bin/bash\n")) << r.out;
  for (const char* line : {"#SBATCH --nodes=3", "#SBATCH --time=1:00:00", "#SBATCH --exclude=v[3-4]",
                           "#SBATCH --dependency=afterany:55,singleton", "nodes=2", "spares=1", "mpi=pmi2"}) {
    EXPECT_EQ(lines_with(line, script), 1) << line << "\n" << r.out;
  }
  EXPECT_TRUE(script.ends_with(body_of_jobs())) << "a job's script needs no file beside it";
  EXPECT_EQ(read("tested.sh"), script);  // what Slurm was asked about
  expect_in(fmt::format("  job.sh          {} bytes\n", script.size()), r.out);
  EXPECT_FALSE(has("job.sh") || has("submitted.yaml") || has("jobs.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));
  expect_not_in("--parsable", read("calls"));

  // What is shown is what a submission writes.
  ASSERT_EQ(submit_run("--spares 1 --time 1:00:00 --exclude 'v[3-4]' --after 55 --train.steps 7 --chain 2 "
                       "--checkpoint.interval 5 --cluster.software.container '[in, image]'")
                .exit_code,
            0);
  std::int64_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(workplace() / directory)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = std::filesystem::relative(entry.path(), workplace() / directory);
    expect_in("\n  " + name + " ", r.out);
    ++files;
    if (name == "jobs.jsonl") continue;
    EXPECT_EQ(read_bytes(entry.path()), printed_file(r.out, name)) << name;
  }
  EXPECT_EQ(files, 5);
  expect_in("submitted.yaml  stays as it is", submit_run("--dry-run").out);
}

/// The first submission that a reader of docs/slurm.md makes, as it is printed there.
TEST_F(Submit, TakesTheCommandOfItsPage) {
  const std::string page = read_bytes(OCTET_SOURCE_DIR "/docs/slurm.md"), head = "octet submit configs/runs/";
  const std::size_t from = page.find(head), to = page.find("\nI layout", from);
  ASSERT_NE(to, std::string::npos);
  const std::string words = page.substr(from + head.size(), to - from - head.size());
  const CommandResult r = submit(fmt::format("{}/configs/runs/{} --dry-run", OCTET_SOURCE_DIR, words));
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("layout: 4 nodes x 1 ranks", r.err);
}

/// In a folder of others' it would run as whoever submits there, and one of an older version beside a newer program.
TEST_F(Submit, ThePartsOfAScriptAreTheProgramsOwn) {
  const std::filesystem::path folder = workplace() / "slurm/train-body";
  std::filesystem::create_directories(folder);
  write_bytes(folder / "0-mine.sh", "echo of a stranger\n");
  const CommandResult r = submit_run("--dry-run");
  std::filesystem::remove_all(workplace() / "slurm");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_TRUE(printed_file(r.out, "job.sh").ends_with(body_of_jobs())) << r.out;
}

TEST_F(Submit, DryRunNeedsNoSlurm) {
  std::filesystem::remove(fake / "bin/sbatch");
  program("sbatch", "#!/bin/bash\necho 'sbatch: fatal: Could not establish a configuration source' >&2\nexit 1\n");
  const CommandResult r = submit_run("--dry-run");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("Could not establish a configuration source", r.err);
  expect_in("written for Slurm 22.05", r.err);
  expect_in("export SRUN_CPUS_PER_TASK=1", r.out);
  expect_not_in("SRUN_CPUS_PER_TASK", submit_run("--dry-run --slurm-version 24.05").out);
  const CommandResult real = submit_run();
  EXPECT_EQ(real.exit_code, 64);
  expect_in("--dry-run prints the script on any", real.err);
}

/// Slurm's commands would look for it for a minute.
TEST_F(Submit, AConfigurationOfSlurmThatIsNotThereIsToldAtOnce) {
  const std::string lost = "&& export SLURM_CONF=/nowhere/slurm.conf";
  const CommandResult dry = submit_run("--dry-run", lost);
  EXPECT_EQ(dry.exit_code, 0) << dry.all();
  expect_in("SLURM_CONF is \"/nowhere/slurm.conf\", where there is no file", dry.err);
  EXPECT_EQ(read("calls"), "");
  ASSERT_EQ(submit_run().exit_code, 0);
  std::filesystem::remove(fake / "calls");
  for (const CommandResult& r : {submit_run("", lost), submit("cancel " + directory, lost)}) {
    EXPECT_EQ(r.exit_code, 64) << r.all();
    expect_in("SLURM_CONF is \"/nowhere/slurm.conf\"", r.err);
  }
  EXPECT_EQ(read("calls"), "");
}

TEST_F(Submit, WritesTheRunDirectoryAndSaysWhereToLook) {
  const CommandResult r = submit_run("--train.steps 3");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  const std::string run = workplace() / directory;
  expect_in("submitted 101 on 2 nodes of local, 2 ranks", r.out);
  for (const char* name : {"/job.sh", "/job-101.out", "/metrics.jsonl"}) expect_in(run + name, r.out);
  EXPECT_EQ(read("job-101.sh"), read_bytes(file("job.sh")));
  EXPECT_EQ(read("tested.sh"), read_bytes(file("job.sh")));
  expect_in("Job 7 to start", r.err);
  expect_in("train_options=()\n", read("job-101.sh"));
  // The job begins elsewhere: nothing in its file depends on where it was submitted.
  const CommandResult trained =
      run_command(fmt::format("cd / && OMP_NUM_THREADS=1 mpiexec -n 2 {} {}/submitted.yaml", octet_train, run), 120);
  EXPECT_EQ(trained.exit_code, 0) << trained.all();
  const auto status = read_status(run + "/status.json");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, "finished");
  EXPECT_EQ(status->step, 3);

  const CommandResult again = submit_run("--train.steps 3");
  EXPECT_EQ(again.exit_code, 64);
  expect_in("the run is finished, at step 3", again.err);
}

TEST_F(Submit, FilesHaveWhatTheUmaskLeaves) {
  ASSERT_EQ(submit_run("", "&& umask 077").exit_code, 0);
  const auto mode_of = [&](const std::string& name) {
    struct stat info {};
    return ::stat(file(name).c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  };
  EXPECT_EQ(mode_of("job.sh"), 0700U);
  EXPECT_EQ(mode_of("submitted.yaml"), 0600U);
}

TEST_F(Submit, ALaterSubmissionKeepsTheFileAndPassesWhatDiffers) {
  ASSERT_EQ(submit_run("--train.steps 3").exit_code, 0);
  const std::string first = read_bytes(file("submitted.yaml"));
  const CommandResult r =
      submit(fmt::format("{} --cluster local --nodes 3 --train.steps 9 --data.validation_fraction=0.1", directory));
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_EQ(read_bytes(file("submitted.yaml")), first);
  expect_in("train_options=(--data.validation_fraction=0.1 --train.steps=9)\n", read("job-102.sh"));
  expect_in("nodes=3\n", read("job-102.sh"));
  EXPECT_EQ(lines_with("\"id\"", read_bytes(file("jobs.jsonl"))), 2);
  // Jobs of one run directory wait for each other by their name.
  const std::string name = read("job-101.sh").substr(read("job-101.sh").find("--job-name="), 20);
  expect_in(name, read("job-102.sh"));
}

TEST_F(Submit, ChainsJobsOfOneName) {
  const CommandResult r = submit_run("--chain 3 --hold --checkpoint.interval 5");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in("submitted 101, 102, 103", r.out);
  EXPECT_EQ(lines_with("--parsable", read("calls")), 3);
  EXPECT_EQ(lines_with("--parsable --hold", read("calls")), 1);
  EXPECT_EQ(read("job-101.sh"), read("job-103.sh"));
  expect_in("#SBATCH --dependency=singleton\n", read("job-101.sh"));
}

/// As with a limit of jobs in the queue.
TEST_F(Submit, AChainOfWhichSlurmTakesSomeJobsIsOne) {
  const std::string three = "--chain 3 --checkpoint.interval 5";
  const CommandResult one = submit_run(three, "FAKE_MOST=101");
  EXPECT_EQ(one.exit_code, 64);
  expect_in("sbatch --parsable " + (workplace() / directory), one.err);
  expect_in("QOSMaxSubmitJobPerUserLimit\nSlurm has taken 1 of the chain's 3 jobs: 101. ", one.err);
  EXPECT_EQ(lines_with("\"id\":\"101\"", read_bytes(file("jobs.jsonl"))), 1);

  const CommandResult two = submit_run(three, "FAKE_MOST=103");
  EXPECT_EQ(two.exit_code, 64);
  expect_in("Slurm has taken 2 of the chain's 3 jobs: 102, 103. ", two.err);
  expect_in(fmt::format("`octet submit cancel {}`", workplace() / directory), two.err);
  expect_in("the same command with --chain 1 adds the rest", two.err);
  EXPECT_EQ(rest_of("102", "stop", 0, "103 104"), "103 104 ") << "a stop of the one ends the other";

  const CommandResult none = submit_run(three, "FAKE_MOST=103");
  EXPECT_EQ(none.exit_code, 64);
  expect_not_in("of the chain's", none.err);
}

/// Which jobs end with one is known from what each is to do, not from when it was submitted.
TEST_F(Submit, AChainThatIsAddedIsOneWithTheFirst) {
  const std::string saves = " --checkpoint.interval 5 --train.steps 20";
  ASSERT_EQ(submit_run("--chain 2" + saves).exit_code, 0);
  ASSERT_EQ(submit(directory + " --cluster local --nodes 2 --chain 2").exit_code, 0);
  ASSERT_EQ(submit(directory + " --cluster local --nodes 3").exit_code, 0);                   // 105
  ASSERT_EQ(submit(directory + " --cluster local --nodes 2 --train.steps 30").exit_code, 0);  // 106
  const std::string waiting = "102 103 104 105 106 107";  // the last by hand, with the script of the one before it
  EXPECT_EQ(rest_of("101", "stop", 20, waiting), "102 103 104 ");
  EXPECT_EQ(rest_of("104", "stop", 20, waiting), "102 103 104 ");
  EXPECT_EQ(rest_of("105", "stop", 20, waiting), "105 ");
  EXPECT_EQ(rest_of("107", "stop", 30, waiting), "106 107 ");
  EXPECT_EQ(rest_of("101", "finish", 20, waiting), "102 103 104 105 ");
  EXPECT_EQ(rest_of("106", "finish", 30, waiting), "102 103 104 105 106 107 ");
  EXPECT_EQ(rest_of("101", "finish", 20, ""), "");
}

/// The directory alone says what its last job had.
TEST_F(Submit, ADirectoryIsSubmittedAsItsLastJobWas) {
  ASSERT_EQ(submit_run("--checkpoint.interval 5 --train.steps 20 --cluster.slurm.account physics").exit_code, 0);
  ASSERT_EQ(submit(directory + " --cluster local --nodes 2 --spares 1 --cluster.slurm.account physics").exit_code, 0);
  const CommandResult again = submit(directory);
  ASSERT_EQ(again.exit_code, 0) << again.all();
  expect_in("as job 102 of this run: 2 nodes and 1 spares of local", again.err);
  EXPECT_EQ(read("job-103.sh"), read("job-102.sh"));
  EXPECT_EQ(rest_of("102", "stop", 20, "103"), "103 ") << "they do the same";
  expect_in("name: local\n", read_bytes(file("cluster.yaml")));

  ASSERT_EQ(submit(directory + " --nodes 3").exit_code, 0);
  for (const char* line : {"#SBATCH --nodes=3", "spares=0", "#SBATCH --account=physics"}) {
    EXPECT_EQ(lines_with(line, read("job-104.sh")), 1) << line;
  }
  std::filesystem::remove(file("jobs.jsonl"));
  expect_in("which cluster?", submit(directory).err);
}

TEST_F(Submit, RefusesWhatEveryRankWouldRefuse) {
  write_bytes(workplace() / "wrong.json", "{}");
  const CommandResult wrong = submit_run("--nccl.tuning_file wrong.json");
  EXPECT_EQ(wrong.exit_code, 64) << wrong.all();
  expect_in("wrong.json", wrong.err);
  const std::string wsd = "--checkpoint.interval 4 --schedule.kind wsd --schedule.decay_steps 4 --train.steps ";
  ASSERT_EQ(submit_run(wsd + "8").exit_code, 0);
  ASSERT_EQ(train_in(directory, 2, wsd + "8").result.exit_code, 0);
  const CommandResult longer = submit(directory + " --train.steps 40");
  EXPECT_EQ(longer.exit_code, 64) << longer.all();
  expect_in("which is done, had the learning rate", longer.err);
  const std::string checkpoints = file("checkpoints/");
  std::filesystem::rename(checkpoints + "step-000008", checkpoints + "step-8");
  std::filesystem::remove_all(checkpoints + "step-000004");
  expect_in("step-8 holds one, which no run finds there", submit(directory + " --train.steps 40").err);
}

/// Whoever submits it has done something about what may end the first.
TEST_F(Submit, AJobThatIsSubmittedOtherwiseIsNotEndedWithTheFirst) {
  const std::string again = directory + " --cluster local --nodes 2 ";
  ASSERT_EQ(submit_run("--checkpoint.interval 5 --train.steps 20").exit_code, 0);
  ASSERT_EQ(submit(again).exit_code, 0);
  ASSERT_EQ(submit(again + "--exclude v3").exit_code, 0);
  ASSERT_EQ(submit(again + "--time 0:30:00").exit_code, 0);
  ASSERT_EQ(submit(again + "--cluster.nodes.memory_gib 5").exit_code, 0);
  EXPECT_EQ(rest_of("101", "stop", 0, "102 103 104 105"), "102 ");
  EXPECT_EQ(rest_of("101", "finish", 20, "102 103 104 105"), "102 103 104 105 ");
}

/// Records of an older version do not say what their jobs do: none is ended for another.
TEST_F(Submit, JobsOfAnOlderVersionAreLeftAlone) {
  write_bytes(file("jobs.jsonl"),
              "{\"id\":\"101\",\"name\":\"a-1\",\"cluster\":\"local\",\"nodes\":2,\"time\":\"\"}\n"
              "{\"id\":\"102\",\"name\":\"a-1\",\"cluster\":\"local\",\"nodes\":2,\"time\":\"\"}\n");
  for (const char* after : {"stop", "finish"}) EXPECT_EQ(rest_of("101", after, 20, "102 103"), "") << after;
}

/// Written anew it would be another run's, and jobs in the queue read it.
TEST_F(Submit, ASubmittedYamlThatSaysNothingIsNotReplaced) {
  ASSERT_EQ(submit_run("--train.steps 9").exit_code, 0);
  const std::string path = file("submitted.yaml"), aside = path + ".aside";
  std::filesystem::rename(path, aside);
  write_bytes(path, "");
  const CommandResult empty = submit_run();
  EXPECT_EQ(empty.exit_code, 64);
  expect_in("submitted.yaml: is empty; expected", empty.err);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("submitted.yaml", path);  // to itself
  const CommandResult unreadable = submit_run();
  EXPECT_EQ(unreadable.exit_code, 64);
  expect_in("submitted.yaml: cannot be read: ", unreadable.err);
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  std::filesystem::rename(aside, path);
  EXPECT_EQ(submit_run().exit_code, 0);
}

/// As where Slurm cannot open its output: no file of the run says why it has ended.
TEST_F(Submit, AJobThatFailedWithoutAWordIsTold) {
  ASSERT_EQ(submit_run("--chain 3 --checkpoint.interval 5").exit_code, 0);
  program("scontrol", "#!/bin/bash\n[[ $3 == 103 ]] || echo '   JobState=FAILED Reason=NonZeroExitCode NodeList=v1'\n");
  write_bytes(file("job-101.out"), "one\n");
  write_bytes(file("job-102.out"), "");
  const std::string told = submit("status " + directory).out;
  const std::string what = " has failed and written nothing (docs/problems.md, \"A job leaves no output\"): ";
  EXPECT_EQ(lines_with(what, told), 1) << told;
  expect_in("102" + what + (workplace() / (directory + "/job-102.out")), told);
}

TEST_F(Submit, ShowsWhatSlurmSaidAndWhatWasRun) {
  const CommandResult refused = submit_run("", "FAKE_REFUSE=1");
  EXPECT_EQ(refused.exit_code, 64);
  expect_in("invalid partition specified: main", refused.err);
  expect_in("sbatch --test-only < job.sh", refused.err);
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));

  const CommandResult old = submit_run("", "FAKE_VERSION=20.11.9");
  EXPECT_EQ(old.exit_code, 64);
  expect_in("Slurm 20.11: expected 22.05 or newer", old.err);
}

TEST_F(Submit, VariablesThatWouldOverrideTheScriptAreLeftOutByName) {
  const CommandResult r =
      submit_run("",
                 "SBATCH_ARRAY_INX=1-4 SBATCH_ACCOUNT=proj SBATCH_PARTITION=other SBATCH_DEBUG=0 SLURM_CPU_BIND=rank "
                 "SLURM_MPI_TYPE=none SQUEUE_STATES=FAILED NCCL_IB_DISABLE=1");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in("SBATCH_ARRAY_INX=1-4 of this shell is left out: --array: each task of an array", r.err);
  expect_in("SBATCH_PARTITION=other of this shell is left out: profile or command line say --partition=main", r.err);
  expect_in("SBATCH_ACCOUNT=proj of this shell: the script asks for --account=proj", r.err);
  expect_in("SLURM_CPU_BIND=rank of this shell is left out: --cpu-bind", r.err);
  expect_in("#SBATCH --account=proj\n", read("job-101.sh"));
  expect_in("the job inherits a variable of this shell: NCCL_IB_DISABLE = 1", r.err);
  const std::string seen = read("environment");
  for (const char* name : {"SBATCH_ARRAY_INX", "SBATCH_ACCOUNT", "SBATCH_PARTITION", "SLURM_", "SQUEUE_"}) {
    expect_not_in(std::string("\n") + name, seen);
  }
  expect_in("SBATCH_DEBUG=0\n", seen);
}

TEST_F(Submit, FromWithinAJobItsVariablesAreLeftOut) {
  const std::string conf = "SLURM_CONF=" + fake.path() + "/slurm.conf";
  write_bytes(fake / "slurm.conf", "");
  const CommandResult r =
      submit_run("", "SLURM_JOB_ID=77 SLURM_NTASKS=9 SLURM_MEM_PER_CPU=5 " + conf + " PMI_FD=5 SLURM_STEP_ID=0");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in("this shell is of job 77: its SLURM_* and PMI_* variables are left out", r.err);
  expect_not_in("SLURM_NTASKS=9 of this shell", r.err);  // one line for all
  for (const char* name : {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_MEM_PER_CPU", "PMI_FD"}) {
    expect_not_in(name, read("environment"));
  }
  expect_in(conf, read("environment"));
}

TEST_F(Submit, TakesWhatSbatchTakes) {
  ASSERT_EQ(submit("run.yaml --cluster local -N 2 -A project -plow -q high --mail-user=me@site --mail-type END,FAIL "
                   "--reservation maint -C 'h100&ib' -t 1:00:00 -x v4 --cluster.slurm.options '[--mail-type=NONE, "
                   "--nice]' --run.dir " +
                   directory)
                .exit_code,
            0);
  const std::string script = read("job-101.sh");
  for (const char* line :
       {"--account=project", "--partition=low", "--qos=high", "--mail-user=me@site", "--mail-type=END,FAIL",
        "--reservation=maint", "--constraint=h100&ib", "--time=1:00:00", "--exclude=v4", "--nodes=2", "--nice"}) {
    EXPECT_EQ(lines_with(fmt::format("#SBATCH {}", line), script), 1) << line << "\n" << script;
  }
  EXPECT_EQ(lines_with("--mail-type", script), 1);
  const CommandResult twice = submit_run("-A one --cluster.slurm.account two");
  EXPECT_EQ(twice.exit_code, 64);
  expect_in("\"one\" and --cluster.slurm.account say the same", twice.err);
  expect_in("#SBATCH --partition=low", submit_run("--dry-run --partition low").out);
}

TEST_F(Submit, LeadComesFromTheLastCheckpoint) {
  expect_in("#SBATCH --signal=B:USR1@60\n", submit_run("--dry-run").out);
  std::filesystem::create_directories(workplace() / directory);
  write_status(file("status.json"), {.state = "running", .reason = "", .steps = 20, .checkpoint_seconds = 100.5});
  const std::string script = submit_run("--dry-run").out;
  expect_in("#SBATCH --signal=B:USR1@261\n", script);
  expect_in("grace_seconds=261\n", script);
}

TEST_F(Submit, StatusCancelAndLogs) {
  const CommandResult none = submit("status " + directory);
  EXPECT_EQ(none.exit_code, 64);
  expect_in("found neither jobs.jsonl nor status.json", none.err);
  ASSERT_EQ(submit_run("--chain 2 --checkpoint.interval 5").exit_code, 0);
  EXPECT_EQ(submit("logs " + directory).exit_code, 64);  // nothing has begun
  const CommandResult fresh = submit("status " + directory);
  EXPECT_EQ(fresh.exit_code, 0) << fresh.all();
  for (const char* part : {"jobs     101,102", "status   none yet", "metrics  none yet", "log      none yet"})
    expect_in(part, fresh.out);
  std::filesystem::create_directories(file("job/101"));
  write_bytes(file("job/101/told-to-end"), "2026-11-28T18:03:22Z 0\nJobState=CANCELLED\n");
  expect_in("status   none yet: job 101 was cancelled at 2026-11-28T18:03:22Z\n", submit("status " + directory).out);
  const std::string name = name_of("101");
  write_bytes(fake / "queue", fmt::format("101|RUNNING, 1:00 of 30:00, 2 nodes v[1-2]|{0}|{1}/job.sh\n"
                                          "102|PENDING, 0:00 of 30:00, 2 nodes (Dependency)|{0}|{1}/job.sh\n"
                                          "103|PENDING, 0:00 of 30:00, 2 nodes (Dependency)|another-{0}|{1}/job.sh\n"
                                          "104|RUNNING, 1:00 of 30:00, 2 nodes v[1-2]|{0}|{2}/job.sh\n"
                                          "105|RUNNING, 1:00 of 30:00, 2 nodes v[1-2]|{0}|{2}/other.sh\n",
                                          name, file(""), fake.path()));
  write_bytes(fake / "job.sh", "# of no run\n");
  write_bytes(fake / "accounts", "100|COMPLETED|0:0|00:10:00\n");
  write_bytes(file("job-101.out"), "one\ntwo\nthree\n");
  write_bytes(file("metrics.jsonl"),
              "{\"step\": 4, \"loss\": 2.50004, \"tokens_per_second\": 5223.457}\n{\"step\": 5, \"lo");
  // Written when the run began: its metrics know more.
  write_status(file("status.json"), {.state = "running", .reason = "", .step = 0, .steps = 20, .restarts = 1});
  const CommandResult r = submit("status " + directory);
  for (const char* part : {"101 RUNNING", "102 PENDING", "100|COMPLETED", "running at step 4 of 20", "restarts 1",
                           "metrics  step 4, loss 2.5000, tokens_per_second 5,223\n", "job-101.out"}) {
    expect_in(part, r.out);
  }
  // Whatever the last line is, the status has its own.
  write_status(file("status.json"),
               {.state = "failed", .reason = "a\x1b[2J\nstatus   finished", .step = 3, .steps = 20});
  for (const char* line : {"{\"step\":\"x\"}\n", "{\"step\":1e300}\n", "{\"loss\":2}\n", "7\n", "{\n"}) {
    write_bytes(file("metrics.jsonl"), line);
    const CommandResult odd = submit("status " + directory);
    expect_in("failed at step 3 of 20 (a\\x1b[2J\\nstatus   finished), restarts 0", odd.out);
    expect_in("metrics  none yet", odd.out);
    expect_in("metrics.jsonl", odd.err);
    expect_in("; the last line is left out", odd.err);
  }
  EXPECT_EQ(submit("logs " + directory + " --lines 2").out, "two\nthree\n");

  const CommandResult cancelled = submit("cancel " + directory);
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.all();
  expect_in("scancel 101 102\n", read("calls"));
  expect_in(fmt::format("job 105 has the name of this run's jobs and another script ({}/other.sh): ", fake.path()),
            cancelled.err);
  EXPECT_EQ(lines_with("another script", cancelled.err), 2) << cancelled.err;
  // Submitted through a pipe, and with arguments behind the script.
  write_bytes(fake / "queue",
              fmt::format("101|RUNNING, |{0}|(null)\n102|PENDING, |{0}|{1}/job.sh --more\n", name, file("")));
  expect_in("cancelled 101, 102", submit("cancel " + directory).out);
  std::filesystem::remove(fake / "queue");
  expect_in("no job of", submit("cancel " + directory).out);
  EXPECT_EQ(lines_with("scancel", read("calls")), 2);

  // What goes to Slurm's programs is a number.
  write_bytes(file("jobs.jsonl"),
              "{\"id\": \"--me\", \"name\": \"a\", \"cluster\": \"local\", \"nodes\": 2, \"time\": \"\"}\n");
  const CommandResult foreign = submit("status " + directory);
  EXPECT_EQ(foreign.exit_code, 64);
  expect_in("jobs.jsonl:1: id is \"--me\"; expected the number of a job", foreign.err);
}

/// squeue takes a comma in --name for the end of a name.
TEST_F(Submit, NamesOfJobsHaveNoComma) {
  directory += "/lr=1e-3,wd=0.1";
  ASSERT_EQ(submit_run("--chain 2 --checkpoint.interval 5").exit_code, 0);
  const std::string name = name_of("101");
  expect_in("lr=1e-3_wd=0.1-", name);
  // Jobs of an older version, which left the comma there, are found too, and no others of the user.
  std::string records = read_bytes(file("jobs.jsonl"));
  const std::string old = "lr=1e-3,wd=0.1-ab12";
  write_bytes(file("jobs.jsonl"), records.replace(records.find(name), name.size(), old));
  write_bytes(
      fake / "queue",
      fmt::format("101|RUNNING, |{0}|{2}/job.sh\n102|PENDING, |{1}|{2}/job.sh\n103|PENDING, |lr=1e-3|{2}/job.sh\n", old,
                  name, file("")));
  const CommandResult cancelled = submit("cancel " + directory);
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.all();
  expect_in("scancel 101 102\n", read("calls"));
}

/// As where /home leads to /lustre. Jobs of one name wait for each other.
TEST_F(Submit, TwoPathsToADirectoryAreOneRun) {
  const std::string by_link = fmt::format("run.yaml --cluster local --nodes 2 --run.dir {}/link", directory);
  std::filesystem::create_directories(file("real"));
  std::filesystem::create_directory_symlink("real", file("link"));
  directory += "/real";
  ASSERT_EQ(submit(by_link).exit_code, 0);
  ASSERT_EQ(submit_run().exit_code, 0);
  expect_in("real-", name_of("101"));
  EXPECT_EQ(name_of("101"), name_of("102"));
  // Jobs of an older version have a name by the path that was given; those that come wait for them.
  std::string records = read_bytes(file("jobs.jsonl"));
  const std::string last = "\"" + name_of("102") + "\"";
  write_bytes(file("jobs.jsonl"), records.replace(records.rfind(last), last.size(), "\"link-ab12\""));
  ASSERT_EQ(submit_run().exit_code, 0);
  EXPECT_EQ(name_of("103"), "link-ab12");
}

TEST_F(Submit, StatusOfARunThatWasStartedByHand) {
  std::filesystem::create_directories(file(""));
  write_status(file("status.json"), {.state = "finished", .reason = "", .step = 20, .steps = 20, .restarts = 0});
  const CommandResult r = submit("status " + directory);
  EXPECT_EQ(r.exit_code, 0) << r.all();
  for (const char* part : {"jobs     none: it was started by hand", "finished at step 20 of 20", "metrics  none yet",
                           "log      that of whoever started it"}) {
    expect_in(part, r.out);
  }
  EXPECT_EQ(submit("cancel " + directory).exit_code, 64);
}

TEST_F(Submit, PrintsProfilesAndHelp) {
  const CommandResult r = submit("--cluster ibm-roce --print-profile --cluster.slurm.account=mine");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("  account: mine\n", r.out);
  write_bytes(workplace() / "own-cluster.yaml", r.out);
  EXPECT_EQ(submit("--cluster own-cluster.yaml --print-profile").out, r.out);
  expect_in("which cluster?", submit("--print-environment").err);
  const CommandResult help = submit("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* option : {"--chain", "--spares", "--exclude", "--after", "--hold", "status|cancel|logs"})
    expect_in(option, help.out);
}

}  // namespace
}  // namespace octet::test
