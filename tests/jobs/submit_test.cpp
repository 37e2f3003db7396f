#include <sys/stat.h>

#include "src/metrics/status.h"
#include "tests/jobs/job.h"

// octet submit against programs that stand in for Slurm's: they note how they were called and answer from files.
namespace octet::test {
namespace {

constexpr const char* fake_sbatch =
    "#!/bin/bash\n"
    "echo \"sbatch $*\" >>\"$FAKE/calls\"\n"
    "env >\"$FAKE/environment\"\n"
    "case $1 in\n"
    "  --version) echo \"slurm ${FAKE_VERSION:-22.05.8}\" ;;\n"
    "  --test-only)\n"
    "    cat >\"$FAKE/tested.sh\"\n"
    "    [[ -z ${FAKE_REFUSE:-} ]] || { echo \"sbatch: error: invalid partition specified: main\" >&2 && exit 1; }\n"
    "    echo 'sbatch: Job 7 to start at 2026-05-01T12:00:00 using 4 processors' >&2 ;;\n"
    "  *)\n"
    "    id=$(($(cat \"$FAKE/last\" 2>/dev/null || echo 100) + 1))\n"
    "    ((id <= ${FAKE_MOST:-1000})) || { echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2 && exit 1; }\n"
    "    echo $id | tee \"$FAKE/last\"\n"
    "    cp \"${@: -1}\" \"$FAKE/job-$id.sh\" ;;\n"
    "esac\n";
constexpr const char* fake_squeue =
    "#!/bin/bash\n"
    "echo \"squeue $*\" >>\"$FAKE/calls\"\n"
    "[[ ! -e $FAKE/queue ]] || { [[ $* == *--format=%i ]] && cut -d' ' -f1 \"$FAKE/queue\" || cat \"$FAKE/queue\"; }\n";
constexpr const char* fake_sacct =
    "#!/bin/bash\n"
    "[[ -e $FAKE/accounts ]] || { echo 'Slurm accounting storage is disabled' >&2 && exit 1; }\n"
    "cat \"$FAKE/accounts\"\n";
constexpr const char* fake_scancel = "#!/bin/bash\necho \"scancel $*\" >>\"$FAKE/calls\"\n";

/// A cluster of its own for each test.
class Submit : public testing::Test {
 protected:
  void SetUp() override {
    program("sbatch", fake_sbatch);
    program("squeue", fake_squeue);
    program("sacct", fake_sacct);
    program("scancel", fake_scancel);
  }

  void program(const std::string& name, const std::string& text) {
    write_bytes(fake / ("bin/" + name), text);
    chmod((fake / ("bin/" + name)).c_str(), 0755);
  }
  std::string read(const std::string& name) const {
    return std::filesystem::exists(fake / name) ? read_bytes(fake / name) : "";
  }
  /// `octet submit` in the workplace.
  CommandResult submit(const std::string& arguments, const std::string& environment = "") const {
    return run_command(
        fmt::format("cd {} && export FAKE={} PATH={}/bin:/usr/bin:/bin OMP_NUM_THREADS=1 {} && exec {}/octet submit {}",
                    workplace().path(), fake.path(), fake.path(), environment, OCTET_BIN_DIR, arguments));
  }
  /// Of the tiny run on two nodes, in a directory of the test's own.
  CommandResult submit_run(const std::string& more = "", const std::string& environment = "") const {
    return submit(fmt::format("run.yaml --cluster local --nodes 2 --run.dir {} {}", directory, more), environment);
  }
  std::string file(const std::string& name) const { return workplace() / (directory + "/" + name); }
  bool has(const std::string& name) const { return std::filesystem::exists(file(name)); }

  TempFolder fake;
  std::string directory = new_run_directory();
};

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in:\n" << text;
}
void expect_not_in(const std::string& part, const std::string& text) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << " in:\n" << text;
}

std::int64_t lines_with(const std::string& part, const std::string& text) {
  std::istringstream in(text);
  std::int64_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.find(part) != std::string::npos ? 1 : 0;
  return count;
}

/// The content of a file in what a dry run prints.
std::string printed_file(const std::string& out, const std::string& name) {
  const std::string head = "/" + name + " <==\n";
  const std::size_t at = out.find(head);
  if (at == std::string::npos) return "";
  return out.substr(at + head.size(), out.find("\n==> ", at) - at - head.size());
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
  EXPECT_TRUE(script.ends_with(read_bytes(OCTET_SOURCE_DIR "/slurm/train-body.sh")));
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
    if (name != "jobs.jsonl" && name != "job/chains.txt") {
      EXPECT_EQ(read_bytes(entry.path()), printed_file(r.out, name)) << name;
    }
  }
  EXPECT_EQ(files, 6);
  expect_in("submitted.yaml  stays as it is", submit_run("--dry-run").out);
}

TEST_F(Submit, DryRunGoesOnWithoutTheDataAndSaysSo) {
  const CommandResult r = submit_run("--dry-run --data.train data/none");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in("not checked: data: [data] data.train: cannot open", r.err);
  EXPECT_NE(printed_file(r.out, "job.sh"), "");
  EXPECT_EQ(submit_run("--data.train data/none").exit_code, 64);
}

TEST_F(Submit, InitialWeightsAreLookedAtBeforeTheQueue) {
  const CommandResult r = submit_run("--init.from nowhere");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  expect_in("init.from = nowhere: has no weights; expected a Hugging Face folder", r.err);
  expect_in("not checked: init.from: [train] init.from = nowhere", submit_run("--dry-run --init.from nowhere").err);
}

TEST_F(Submit, TokenIdsAboveTheVocabularyAreFoundBeforeTheQueue) {
  write_bytes(workplace() / "small.yaml",
              std::string(tiny_model).replace(std::string(tiny_model).find("256"), 3, "120"));
  const std::string name = "data/above-" + std::filesystem::path(fake.path()).filename().string();
  write_tokens(workplace() / name, 9000, TokenType::u8, [](std::int64_t i) { return i == 8998 ? 120 : 7; });
  const std::string side = workplace() / (name + ".data.json");
  std::filesystem::remove(side);
  const std::string options = "--model ./small.yaml --data.train " + name;
  for (const char* dry : {"--dry-run", ""}) {
    const CommandResult r = submit_run(options + " " + dry);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    expect_in(name + ".bin: its largest token id is 120, at position 8998 of 9000; expected ids from 0 to 119", r.err);
    EXPECT_FALSE(std::filesystem::exists(side)) << "nothing is written beside the data";
  }
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));
  expect_not_in("--parsable", read("calls"));
}

TEST_F(Submit, LargeDataAreLeftToTheRun) {
  const std::string name = "data/large-" + std::filesystem::path(fake.path()).filename().string();
  write_tokens(workplace() / name, 9000, TokenType::i32, [](std::int64_t) { return 0; });
  std::filesystem::remove(workplace() / (name + ".data.json"));
  // As of 4 bytes above 2 GiB, all zeros that take no space: one sequence, whose length is the first number behind the
  // 34 bytes of the index's header.
  const std::int32_t tokens = (std::int32_t{1} << 29) + 1;
  std::string index = read_bytes(workplace() / (name + ".idx"));
  index.replace(34, sizeof tokens, reinterpret_cast<const char*>(&tokens), sizeof tokens);
  write_bytes(workplace() / (name + ".idx"), index);
  std::filesystem::resize_file(workplace() / (name + ".bin"), std::uintmax_t{tokens} * sizeof tokens);
  const CommandResult r = submit_run("--dry-run --data.train " + name);
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in(name + ".bin has 2.0 GiB, whose token ids are not looked at here, where 2.0 GiB are scanned at most",
            r.err);
  std::filesystem::remove(workplace() / (name + ".bin"));
}

TEST_F(Submit, ManyPassesOverTheDataAreWarnedOfBeforeTheQueue) {
  const std::string name = "data/few-" + std::filesystem::path(fake.path()).filename().string();
  write_tokens(workplace() / name, 1601, TokenType::u8, [](std::int64_t i) { return i % 90; });  // 50 samples
  const std::string path = workplace() / name + ".bin";
  const std::string options = "--dry-run --data.train " + name + " --data.validation_fraction 0 --train.steps ";
  const CommandResult many = submit_run(options + "17");
  EXPECT_EQ(many.exit_code, 0) << many.all();
  expect_in("data: 4.08 passes over " + path, many.err);
  expect_in(" W data.train: " + path + ": 17 steps ask for 6528 tokens of it, and 1600 are there to train on",
            many.err);
  const CommandResult few = submit_run(options + "16");
  expect_in("data: 3.84 passes over " + path, few.err);
  expect_not_in("data.max_passes", few.err);
}

TEST_F(Submit, ChangesOfTheMixtureAreCountedAndShownBeforeTheQueue) {
  const std::string name = "data/late-" + std::filesystem::path(fake.path()).filename().string();
  write_tokens(workplace() / name, 1601, TokenType::u8, [](std::int64_t i) { return i % 90; });  // 50 samples
  const std::string options =
      "--dry-run --data.validation_fraction 0 --train.steps 20 --data.train '[data/text, {path: " + name +
      ", weight: 0}]' --data.changes ";
  const CommandResult all = submit_run(options + "'[{step: 3, weights: [0, 1]}]'");
  EXPECT_EQ(all.exit_code, 0) << all.all();
  expect_in("data: 4.32 passes over " + (workplace() / name), all.err);  // 18 steps of 12
  expect_in("data/text 100.00 -> 0.00 %, ", all.err.substr(all.err.find("data: from step 3 on: ")));
  expect_in(name + " 0.00 -> 100.00 %", all.err);
  expect_in("20 steps ask for 6912 tokens of it, and 1600 are there to train on", all.err);
  const CommandResult late = submit_run(options + "'[{step: 21, weights: [0, 1]}]'");
  expect_in(" W data.changes: the one from step 21 on comes after the last step, 20", late.err);
  expect_in(".bin: by its weights, 20 steps read nothing of it", late.err);
  const CommandResult few = submit_run(options + "'[{step: 3, weights: [1]}]'");
  EXPECT_EQ(few.exit_code, 0) << "a dry run goes on without data: " << few.all();
  expect_in("data.changes[0].weights has 1 number(s); expected one for each source", few.all());
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

TEST_F(Submit, SettingsWithWhichTheRunWouldNotGoOnAreRefusedBeforeTheQueue) {
  const TrainedRun& run = finished(1, "--train.steps 4 --checkpoint.interval 4");
  const std::string again = "run.yaml --cluster local --nodes 1 --run.dir " + run.directory;
  for (const char* dry : {"", " --dry-run"}) {
    const CommandResult other = submit(again + " --train.steps 6 --optimizer.lr 0.5" + dry);
    EXPECT_EQ(other.exit_code, 64) << other.all();
    expect_in("optimizer.lr = 0.003 there, 0.5 now; the run can only go on with the same", other.err);
  }
  EXPECT_EQ(read("calls").find("--parsable"), std::string::npos);
  const CommandResult meant =
      submit(again + " --train.steps 6 --optimizer.lr 0.5 --checkpoint.allow_changes optimizer.lr --dry-run");
  EXPECT_EQ(meant.exit_code, 0) << meant.all();
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

TEST_F(Submit, ShowsWhatSlurmSaidAndWhatWasRun) {
  const CommandResult refused = submit_run("", "FAKE_REFUSE=1");
  EXPECT_EQ(refused.exit_code, 64);
  expect_in("invalid partition specified: main", refused.err);
  expect_in("sbatch --test-only < job.sh", refused.err);
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));

  const CommandResult half = submit_run("--chain 3 --checkpoint.interval 5", "FAKE_MOST=101");
  EXPECT_EQ(half.exit_code, 64);
  expect_in("QOSMaxSubmitJobPerUserLimit", half.err);
  expect_in("sbatch --parsable " + (workplace() / directory), half.err);
  expect_in("submitted before: 101", half.err);
  EXPECT_EQ(lines_with("\"id\":\"101\"", read_bytes(file("jobs.jsonl"))), 1);

  const CommandResult old = submit_run("", "FAKE_VERSION=20.11.9");
  EXPECT_EQ(old.exit_code, 64);
  expect_in("Slurm 20.11: expected 22.05 or newer", old.err);
}

TEST_F(Submit, RefusesBeforeTheQueue) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"run.yaml --nodes 2", "which cluster?"},
      {"run.yaml --cluster local", "how many nodes?"},
      {"run.yaml --cluster nowhere --nodes 2", "expected one of aws-p5-efa, "},
      {"run.yaml --cluster local --nodes 5", "at most 4 nodes"},
      {"run.yaml --cluster local --nodes 3 --spares 2", "at most 4 nodes"},
      {"run.yaml --cluster local --nodes 0", "--nodes"},
      {"run.yaml --cluster local --nodes 2 --train.global_batch 5", "train.global_batch = 5"},
      {"run.yaml --cluster local --nodes 2 --train.setps 5", "nearest: --train.steps"},
      {"run.yaml --cluster local --nodes 2 --chian 3", "nearest: --chain"},
      {"run.yaml --cluster local --nodes 2 --parallel.tp 2", "parallel.tp = 2: expected a divisor of the 1 ranks"},
      {"run.yaml --cluster local --nodes 2 --data.train data/none", "data/none"},
      {"run.yaml --cluster local --nodes 2 --train.seq_len 100000", "data/text"},
      {"run.yaml --cluster local --nodes 2 --cluster.nodes.memory_gib 1 --model 160m", "GiB of a node"},
      {"run.yaml --cluster local --nodes 2 --cluster.nodes.memry_gib 1", "nearest: nodes.memory_gib"},
      {"run.yaml --cluster local --nodes 2 --cluster.nodes.memory_gib", "is missing"},
      {"run.yaml --cluster ibm-roce --nodes 2", "device = cpu"},
      {"run.yaml --cluster local --nodes 2 --device cuda", "device = cuda"},
      {"run.yaml --cluster ibm-roce --nodes 2 --device cuda --cluster.gpus.memory_gib 3 --train.global_batch 16",
       "NCCL, estimated"},
      {"run.yaml --cluster local --nodes 2 --checkpoint.resume never", "checkpoint.resume = never"},
      {"run.yaml --cluster local --nodes 2 --chain 2", "checkpoint.interval = off"},
      {"run.yaml --cluster local --nodes 2 --time 1", "a time limit of 60 s"},
      {"run.yaml --cluster local --nodes 2 --time tomorrow", "--time: \"tomorrow\""},
      {"run.yaml --cluster local --nodes 2 --exclude 'v[1-'", "host list"},
      {"run.yaml --cluster local --nodes 2 --after x", "--after"},
      {"data --cluster local --nodes 2", "a folder without submitted.yaml"},
      {"none.yaml --cluster local --nodes 2", "none.yaml"},
  };
  for (const auto& [arguments, part] : table) {
    const CommandResult r = submit(arguments + " --run.dir " + directory);
    EXPECT_EQ(r.exit_code, 64) << arguments << "\n" << r.all();
    expect_in(part, r.err);
  }
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));
  expect_not_in("--parsable", read("calls"));
}

/// The data are not here, which is looked at after layout and memory.
TEST_F(Submit, LargeRunsFitTheNodesTheyAreFor) {
  const std::vector<std::pair<std::string, int>> table = {
      {"llama-8b", 1},    {"llama-70b", 8},      {"llama-70b", 64},    {"llama-405b", 16},
      {"llama-405b", 64}, {"llama-405b-pp", 32}, {"llama-405b-pp", 64}};
  for (const auto& [run, nodes] : table) {
    for (const std::string cluster :
         {"aws-p5-efa", "dgx-h100-infiniband", "grand-teton", "ibm-infiniband", "ibm-roce"}) {
      const CommandResult r = submit(fmt::format("{}/configs/runs/{}.yaml --cluster {} --nodes {} --dry-run",
                                                 OCTET_SOURCE_DIR, run, cluster, nodes));
      EXPECT_EQ(r.exit_code, 0) << r.all();
      expect_in("GiB of a GPU", r.err);
      expect_in("not checked: data: [data] data.train: cannot open", r.err);
    }
  }
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
  const CommandResult r = submit_run(
      "", "SLURM_JOB_ID=77 SLURM_NTASKS=9 SLURM_MEM_PER_CPU=5 SLURM_CONF=/etc/slurm.conf PMI_FD=5 SLURM_STEP_ID=0");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in("this shell is of job 77: its SLURM_* and PMI_* variables are left out", r.err);
  expect_not_in("SLURM_NTASKS=9 of this shell", r.err);  // one line for all
  for (const char* name : {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_MEM_PER_CPU", "PMI_FD"}) {
    expect_not_in(name, read("environment"));
  }
  expect_in("SLURM_CONF=/etc/slurm.conf", read("environment"));
}

/// Beside an octet-train that says what it was built for.
TEST_F(Submit, RefusesAProgramWithoutCudaForGpus) {
  std::filesystem::copy_file(OCTET_BIN_DIR "/octet", fake / "bin/octet");
  const auto says = [&](const std::string& devices, const std::string& more = "") {
    program("octet-train", "#!/bin/bash\nprintf 'octet-train 1\\n" + devices + "\\n'\n");
    return run_command(fmt::format(
        "cd {} && FAKE={} PATH={}/bin:/usr/bin:/bin OMP_NUM_THREADS=1 {}/bin/octet submit run.yaml --cluster ibm-roce "
        "--nodes 1 --device cuda --train.global_batch 16 --run.dir {} {}",
        workplace().path(), fake.path(), fake.path(), fake.path(), directory, more));
  };
  const CommandResult cpu = says("devices    cpu");
  EXPECT_EQ(cpu.exit_code, 64) << cpu.all();
  expect_in("/octet-train: was built for cpu alone, and ibm-roce has GPUs", cpu.err);
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));
  const CommandResult dry = says("devices    cpu", "--dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.all();
  expect_in("without --dry-run this is refused: program: ", dry.err);
  expect_in("/octet-train: was built for cpu alone, and ibm-roce has GPUs", dry.err);
  expect_not_in("not checked: program", dry.err);
  const CommandResult unknown = says("nothing");
  EXPECT_EQ(unknown.exit_code, 0) << unknown.all();
  expect_in("not checked: program: ", unknown.err);
  const CommandResult cuda = says("devices    cpu, cuda 12.9 (80, 90a)");
  EXPECT_EQ(cuda.exit_code, 0) << cuda.all();
  expect_not_in("not checked", cuda.err);
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

TEST_F(Submit, AnIncompleteProfileIsToldAllThatIsMissing) {
  write_bytes(workplace() / "part.yaml",
              "fabric: none\nenvironment:\n  variables:\n    - {name: A, value: b}\n    - {value: c}\n"
              "storage:\n  file_systems: [{path: /a}]\n");
  const CommandResult r = submit("--cluster part.yaml --print-profile");
  EXPECT_EQ(r.exit_code, 64);
  for (const char* key : {"part.yaml:4: environment.variables[0].reason (text): Why", "environment.variables[1].name",
                          "environment.variables[1].reason", "storage.file_systems[0].kind", "description (text)",
                          "nodes.memory_gib (integer): Memory of a node.", "cpu.cores", "7 required key(s)"}) {
    expect_in(key, r.err);
  }
  EXPECT_EQ(occurrences(r.err, " E "), 1);
}

TEST_F(Submit, LeadComesFromTheLastCheckpoint) {
  expect_in("#SBATCH --signal=B:USR1@60\n", submit_run("--dry-run").out);
  std::filesystem::create_directories(workplace() / directory);
  write_status(file("status.json"), {.state = "running", .reason = "", .steps = 20, .checkpoint_seconds = 100.5});
  const std::string script = submit_run("--dry-run").out;
  expect_in("#SBATCH --signal=B:USR1@261\n", script);
  expect_in("grace_seconds=261\n", script);
}

TEST_F(Submit, StartsTheProgramInItsContainer) {
  ASSERT_EQ(
      submit_run("--cluster.software.container '[echo, in, \"my image\"]' --cluster.software.container_program train")
          .exit_code,
      0);
  expect_in("octet_train=" + file("octet-train.sh") + "\n", read("job-101.sh"));
  EXPECT_EQ(run_command(file("octet-train.sh") + " a 'b c'").out, "in my image train a b c\n");
}

TEST_F(Submit, FindsItsProgramsInTheContainerAlone) {
  write_bytes(fake / "octet.sif", "");
  const std::string image = " --cluster.container.image " + (fake / "octet.sif");
  ASSERT_EQ(submit_run(image + " --cluster.container.programs /opt/octet").exit_code, 0);
  const std::string script = read("job-101.sh");
  expect_in("octet=" + file("octet.sh") + "\n", script);
  expect_in("octet_train=" + file("octet-train.sh") + "\n", script);
  expect_in("octet_in_step=" + file("octet.sh") + "\ncontainer_options=()\n", script);
  for (const auto& [name, program] : {std::pair("octet.sh", "octet"), std::pair("octet-train.sh", "octet-train")}) {
    const std::string text = read_bytes(file(name));
    expect_in(" " + (fake / "octet.sif") + " /opt/octet/" + program + " \"$@\"\n", text);
    expect_in(" --bind ", text);
    expect_in(" --pwd " + workplace().path() + " ", text);
  }
  expect_in("\"/no:where/run\": cannot be mounted in the container",
            submit("run.yaml --cluster local --nodes 2 --run.dir /no:where/run" + image).err);
  expect_in("container.image = /nowhere.sif: is not there", submit_run("--cluster.container.image /nowhere.sif").err);
}

TEST_F(Submit, MountsTheFoldersOfWeightsAndPlansInTheContainer) {
  write_bytes(fake / "octet.sif", "");
  const CommandResult r = submit(
      fmt::format("run.yaml --cluster ibm-roce --nodes 1 --device cuda --train.global_batch 16 --run.dir {} --dry-run "
                  "--cluster.container.image {}/octet.sif --init.from /usr/share --nccl.tuning_file /etc/a.conf "
                  "--cuda.gemm_plans /var/lib/gemm",
                  directory, fake.path()));
  ASSERT_EQ(r.exit_code, 0) << r.all();
  const std::string octet = printed_file(r.out, "octet.sh");
  for (const char* folder : {"/usr/share", "/etc", "/var/lib"}) {  // /tmp is mounted anyway
    expect_in(fmt::format(" --bind {}:{} ", folder, folder), octet);
  }
}

TEST_F(Submit, StartsStepsInAContainerOfPyxis) {
  ASSERT_EQ(
      submit_run("--cluster.container.image registry#octet --cluster.container.runtime pyxis "
                 "--cluster.container.options '[--container-writable]' --cluster.launcher.srun_options '[--network=x]'")
          .exit_code,
      0);
  const std::string script = read("job-101.sh");
  expect_in("octet_train=octet-train\n", script);
  expect_in("octet_in_step=octet\ncontainer_options=('--container-image=registry#octet' --container-mounts=", script);
  expect_in(" --container-writable)\nsrun_options=(--network=x)\n", script);
  expect_in("exec srun --overlap", read_bytes(file("octet.sh")));
  EXPECT_FALSE(std::filesystem::exists(file("octet-train.sh")));
}

TEST_F(Submit, StatusCancelAndLogs) {
  const CommandResult none = submit("status " + directory);
  EXPECT_EQ(none.exit_code, 64);
  expect_in("found no jobs.jsonl", none.err);
  ASSERT_EQ(submit_run("--chain 2 --checkpoint.interval 5").exit_code, 0);
  EXPECT_EQ(submit("logs " + directory).exit_code, 64);  // nothing has begun
  const CommandResult fresh = submit("status " + directory);
  EXPECT_EQ(fresh.exit_code, 0) << fresh.all();
  for (const char* part : {"jobs     101,102", "status   none yet", "metrics  none yet", "log      none yet"}) {
    expect_in(part, fresh.out);
  }

  write_bytes(fake / "queue",
              "101 RUNNING, 1:00 of 30:00, 2 nodes v[1-2]\n102 PENDING, 0:00 of 30:00, 2 nodes (Dependency)\n");
  write_bytes(fake / "accounts", "100|COMPLETED|0:0|00:10:00\n");
  write_bytes(file("job-101.out"), "one\ntwo\nthree\n");
  write_bytes(file("metrics.jsonl"), "{\"step\": 4, \"loss\": 2.5}\n{\"step\": 5, \"lo");
  write_status(file("status.json"), {.state = "running", .reason = "", .step = 4, .steps = 20, .restarts = 1});
  const CommandResult r = submit("status " + directory);
  for (const char* part : {"101 RUNNING", "102 PENDING", "100|COMPLETED", "running at step 4 of 20", "restarts 1",
                           "step 4, loss 2.5", "job-101.out"}) {
    expect_in(part, r.out);
  }
  EXPECT_EQ(submit("logs " + directory + " --lines 2").out, "two\nthree\n");

  const CommandResult cancelled = submit("cancel " + directory);
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.all();
  expect_in("scancel 101 102\n", read("calls"));
  std::filesystem::remove(fake / "queue");
  expect_in("no job of", submit("cancel " + directory).out);
  EXPECT_EQ(lines_with("scancel", read("calls")), 1);
}

TEST_F(Submit, PrintsProfilesAndHelp) {
  const CommandResult r = submit("--cluster ibm-roce --print-profile --cluster.slurm.account=mine");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("  account: mine\n", r.out);
  write_bytes(workplace() / "own-cluster.yaml", r.out);
  EXPECT_EQ(submit("--cluster own-cluster.yaml --print-profile").out, r.out);
  const CommandResult help = submit("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* option : {"--chain", "--spares", "--exclude", "--after", "--hold", "status|cancel|logs"}) {
    expect_in(option, help.out);
  }
}

}  // namespace
}  // namespace octet::test
