// What octet submit finds before a job is in the queue.
#include <unistd.h>

#include "kernels/cpu/gemm/gemm_input.h"
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

TEST_F(Submit, WarnsOfSomebodyElsesProfile) {
  ASSERT_EQ(submit_run("").exit_code, 0);
  constexpr const char* warning = "cluster.yaml belongs to user 12345, and the job runs its prolog as you";
  EXPECT_EQ(submit(directory).err.find("belongs to"), std::string::npos);
  if (::chown(file("cluster.yaml").c_str(), 12345, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "only root gives away";
  expect_in(warning, submit(directory + " --dry-run").err);
  EXPECT_EQ(submit(directory + " --dry-run --cluster local --nodes 1").err.find(warning), std::string::npos);
}

TEST_F(Submit, DryRunGoesOnWithoutTheDataAndSaysSo) {
  const CommandResult r = submit_run("--dry-run --data.train data/none");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in("not checked: data: [data] command line: data.train: cannot open", r.err);
  EXPECT_NE(printed_file(r.out, "job.sh"), "");
  EXPECT_EQ(submit_run("--data.train data/none").exit_code, 64);
}

TEST_F(Submit, InitialWeightsAreLookedAtBeforeTheQueue) {
  const CommandResult r = submit_run("--init.from nowhere");
  EXPECT_EQ(r.exit_code, 64) << r.all();
  expect_in("init.from = nowhere: there is no such folder", r.err);
  expect_in("not checked: init.from: [train] init.from = nowhere", submit_run("--dry-run --init.from nowhere").err);
}

TEST_F(Submit, ATuningFileIsHeldToWhatTheRanksTake) {
  const std::string path = fake / "tuning.json";
  write_bytes(path, R"({"octet_tuning": 1, "cluster": "elsewhere", "fabric": "roce", "nccl": "2.28.9",
    "provenance": {"created": "2026-01-01T00:00:00Z", "tool": "octet 0.1.0", "measurements": [], "notes": []},
    "constants": {}, "fits": [], "choices": []})");
  const auto dry_run = [&](const std::string& more, const std::string& environment = "") {
    return submit("run.yaml --cluster ibm-roce --nodes 2 --device cuda --train.global_batch 16 --dry-run --run.dir " +
                      directory + " --nccl.tuning_file " + path + more,
                  environment);
  };
  const CommandResult other = dry_run("");
  EXPECT_EQ(other.exit_code, 0) << other.all();
  expect_in(" is of cluster elsewhere (roce), and not of ibm-roce: its choices and times need not hold there",
            other.err);
  const std::string of_profile =
      " --cluster.environment.variables '[{name: NCCL_TUNER_PLUGIN, value: ofi, reason: ours}]'";
  for (const CommandResult& r : {dry_run(of_profile), dry_run("", "NCCL_TUNER_PLUGIN=ofi")}) {
    EXPECT_EQ(r.exit_code, 64) << r.all();
    expect_in("NCCL_TUNER_PLUGIN is ofi, which does not read it; expected libnccl-tuner-octet.so or octet", r.err);
  }
  ::chmod(path.c_str(), 0666);
  expect_in("nccl.tuning_file = " + path + ": others can change it", dry_run("").err);
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
  const std::string past =
      again + " --train.steps 6 --checkpoint.allow_changes data.changes --data.changes '[{step: 2, weights: [3]}]'";
  for (const char* dry : {"", " --dry-run"}) {
    const CommandResult r = submit(past + dry);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    expect_in("data.changes has nothing there, {step: 2, weights: [3]} now, and step 4 is done", r.err);
  }
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
      {"run.yaml --cluster ibm-roce --nodes 2",
       "device = cpu: the nodes of ibm-roce have 8 GPUs, expected --device cuda"},
      {"run.yaml --cluster local --nodes 2 --device cuda",
       "device = cuda: the nodes of local have no GPUs, expected --device cpu"},
      {"run.yaml --cluster ibm-roce --nodes 2 --device cuda --cluster.gpus.memory_gib 3 --train.global_batch 16",
       "NCCL, estimated"},
      {"run.yaml --cluster ibm-roce --nodes 2 --device cuda --precision float8 --cluster.gpus.type A100",
       "float8.recipe = tensorwise: cuBLASLt has its GEMMs for compute capability 8.9 or later, and the A100 of "
       "ibm-roce has 8.0"},
      {"run.yaml --cluster ibm-roce --nodes 2 --device cuda --cuda.deterministic true --cuda.gemm timed",
       "cuda.gemm = timed: chooses anew in every run"},
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
      expect_in("not checked: data: [data] ", r.err);
      expect_in(run + ".yaml:", r.err);
      expect_in(": data.train: cannot open", r.err);
    }
  }
}

/// The plan is that of the run, whose products need other workspaces in f32 than in bf16. Where this processor has no
/// such products, the nodes' may have them.
TEST_F(Submit, MemoryIsThatOfTheProductsThatTheRunTakes) {
  const auto workspace = [](const std::string& table) {
    const std::size_t at = table.find("  workspace ");
    return at == std::string::npos ? "none in " + table : table.substr(at, table.find('\n', at) - at);
  };
  const auto row = [&](const std::string& gemm) {
    const std::string run = "run.yaml --model 160m --precision float8 --cpu.gemm " + gemm;
    const CommandResult refused = submit(run + " --cluster local --nodes 2 --cluster.nodes.memory_gib 1");
    EXPECT_EQ(refused.exit_code, 64) << refused.all();
    expect_in("GiB of a node", refused.err);
    const CommandResult dry =
        in_workplace(OCTET_BIN_DIR "/octet-train " + run + " --dry-run --cluster local --ranks 2");
    EXPECT_EQ(workspace(refused.err), workspace(dry.out)) << gemm;
    return workspace(refused.err);
  };
  EXPECT_NE(row("f32"), row("bf16"));

  const CommandResult r = submit_run("--cpu.gemm bf16");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_EQ(r.err.find("not checked: cpu.gemm = bf16: this processor has no AVX-512 bf16") == std::string::npos,
            cpu::can_multiply(cpu::GemmInputChoice::bf16, cpu::read_cpu_features()))
      << r.err;
}

/// The variables of a profile's job count.
TEST_F(Submit, NcclsMemoryIsThatOfTheJobsVariables) {
  const auto needs = [&](const std::string& more) {
    const CommandResult r =
        submit(OCTET_SOURCE_DIR "/configs/runs/llama-405b.yaml --nodes 16 --dry-run --cluster " + more);
    const std::size_t at = r.err.find("memory: ");
    return at == std::string::npos ? 0 : std::stod(r.err.substr(at + 8));
  };
  const double without = needs("aws-p5-efa --cluster.environment.variables '[]'");
  EXPECT_GT(without, 0);
  EXPECT_NEAR(needs("aws-p5-efa") - without, 1.8, 0.2) << "GiB";
}

/// For GPUs, beside an octet-train that says what it was built for.
struct SubmitForGpus : Submit {
  CommandResult submit_beside(const std::string& devices, const std::string& more = "") {
    const std::filesystem::path octet = fake / "bin/octet";
    if (!std::filesystem::exists(octet)) std::filesystem::copy_file(OCTET_BIN_DIR "/octet", octet);
    program("octet-train", "#!/bin/bash\nprintf 'octet-train 1\\n" + devices + "\\n'\n");
    return run_command(fmt::format(
        "cd {} && FAKE={} PATH={}/bin:/usr/bin:/bin OMP_NUM_THREADS=1 {}/bin/octet submit run.yaml --cluster ibm-roce "
        "--nodes 1 --device cuda --train.global_batch 16 --run.dir {} {}",
        workplace().path(), fake.path(), fake.path(), fake.path(), directory, more));
  }
};

TEST_F(SubmitForGpus, RefusesAProgramWithoutCuda) {
  const CommandResult cpu = submit_beside("devices    cpu");
  EXPECT_EQ(cpu.exit_code, 64) << cpu.all();
  expect_in("/octet-train: was built for cpu alone, and ibm-roce has GPUs", cpu.err);
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));
  const CommandResult dry = submit_beside("devices    cpu", "--dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.all();
  expect_in("without --dry-run this is refused: program: ", dry.err);
  expect_in("/octet-train: was built for cpu alone, and ibm-roce has GPUs", dry.err);
  expect_not_in("not checked: program", dry.err);
  const CommandResult unknown = submit_beside("nothing");
  EXPECT_EQ(unknown.exit_code, 0) << unknown.all();
  expect_in("not checked: program: ", unknown.err);
  const CommandResult cuda = submit_beside("devices    cpu, cuda 12.9 (80, 90a)");
  EXPECT_EQ(cuda.exit_code, 0) << cuda.all();
  expect_not_in("not checked", cuda.err);
}

TEST_F(SubmitForGpus, LooksForTheFileOfPlans) {
  const std::string devices = "devices    cpu, cuda 12.9 (80, 90a)";
  const std::string options = "--cuda.gemm heuristic --cuda.gemm_plans nowhere";
  const CommandResult refused = submit_beside(devices, options);
  EXPECT_EQ(refused.exit_code, 64) << refused.all();
  expect_in("cuda.gemm_plans = nowhere: does not exist", refused.err);
  EXPECT_FALSE(std::filesystem::exists(workplace() / directory));
  const CommandResult dry = submit_beside(devices, options + " --dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.all();
  expect_in("not checked: cuda.gemm_plans: ", dry.err);
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

}  // namespace
}  // namespace octet::test
