// init.from: a new run that begins with weights which are there already.
#include "tests/jobs/saved.h"
#include "tests/support/unreadable_file.h"

namespace octet::test {
namespace {

const std::string tool = OCTET_BIN_DIR "/octet checkpoint ";
/// Of the runs that are compared; another seed than that of the run whose weights they take.
const std::string few = "--train.steps 3 --run.seed 5 ";

/// A trained run with a checkpoint of its last step, and the folder that it was exported to.
struct Origin {
  const TrainedRun& run;
  std::string folder = "to-begin-with";
};
const Origin& origin() {
  static const Origin made = [] {
    Origin o{finished(1, "--checkpoint.interval auto")};
    const CommandResult r = in_workplace(tool + "export " + o.run.directory + " " + o.folder);
    if (r.exit_code != 0) throw std::runtime_error(r.all());
    return o;
  }();
  return made;
}

/// The independent way to the same weights: a checkpoint of step 0 that the folder was imported to, and resumed from.
TrainedRun imported(int ranks, const std::string& arguments) {
  const std::string directory = new_run_directory();
  const CommandResult r =
      in_workplace(tool + "import " + origin().folder + " " + directory + "/checkpoints/step-000000");
  if (r.exit_code != 0) throw std::runtime_error(r.all());
  return train_in(directory, ranks, few + arguments);
}

TrainedRun begun_with(const std::string& folder, int ranks, const std::string& arguments = "") {
  return train(ranks, few + arguments + " --init.from " + folder);
}

TEST(InitialWeights, AreThoseOfTheFolderTheCheckpointOrTheRunToTheBit) {
  const TrainedRun expected = imported(1, "");
  ASSERT_EQ(expected.losses().size(), 3u) << expected.result.all();
  // It goes on where the first run ended, not where one begins.
  const auto before = origin().run.losses();
  EXPECT_LT(std::abs(expected.losses().front() - before.back()), std::abs(expected.losses().front() - before.front()));

  const std::string checkpoint = checkpoints_of(origin().run).front();
  for (const std::string& from : {origin().folder, origin().run.directory, checkpoint}) {
    const TrainedRun run = begun_with(from, 1);
    EXPECT_EQ(run.losses(), expected.losses()) << run.result.all();
    EXPECT_HAS(run.result.err, "initial weights: those of ");
    EXPECT_HAS(run.result.err, "the moments are zero, and the run begins at step 0");
    EXPECT_HAS(read_bytes(run.file("config.yaml")), "from: " + from);
  }
}

TEST(InitialWeights, AreReadIntoAnyLayout) {
  const double alone = begun_with(origin().folder, 1).losses().at(0);
  for (const char* layout : {"--parallel.dp_shard 2", "--parallel.tp 2", "--parallel.pp 2 --train.micro_batch 6",
                             "--parallel.dp_shard 2 --parallel.zero 2"}) {
    SCOPED_TRACE(layout);
    const TrainedRun folder = begun_with(origin().folder, 2, layout);
    const auto expected = imported(2, layout).losses();
    ASSERT_EQ(expected.size(), 3u) << folder.result.all();
    EXPECT_EQ(folder.losses(), expected);
    EXPECT_EQ(begun_with(origin().run.directory, 2, layout).losses(), expected);
    EXPECT_NEAR(expected.front(), alone, 1e-5 * alone);
  }
}

TEST(InitialWeights, Float8BeginsANewHistory) {
  const std::string delayed = "--precision float8 --float8.recipe delayed";
  EXPECT_EQ(begun_with(origin().folder, 1, delayed).losses(), imported(1, delayed).losses());
  // Nor is that of a run of the recipe taken over, which its export does not have.
  const TrainedRun& run = finished(1, delayed + " --checkpoint.interval auto");
  const CommandResult r = in_workplace(tool + "export " + run.directory + " of-delayed");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  const auto expected = begun_with("of-delayed", 1, delayed).losses();
  ASSERT_EQ(expected.size(), 3u);
  EXPECT_EQ(begun_with(run.directory, 1, delayed).losses(), expected);
}

TEST(InitialWeights, AreNotReadAgainByARunThatGoesOn) {
  const std::string copy = "read-once", saving = "--checkpoint.interval 1 ";
  ASSERT_EQ(in_workplace("cp -r " + origin().folder + " " + copy).exit_code, 0);
  const TrainedRun run = begun_with(copy, 1, saving);
  ASSERT_EQ(run.losses().size(), 3u) << run.result.all();
  std::filesystem::remove_all(workplace() / copy);
  const TrainedRun on = train_in(run.directory, 1, saving + "--run.seed 5 --train.steps 4 --init.from " + copy);
  EXPECT_EQ(on.result.exit_code, 0) << on.result.all();
  EXPECT_HAS(on.result.err, "resumed from ");
  EXPECT_EQ(on.result.err.find("initial weights"), std::string::npos);
  expect_whole_until(on, 4);
}

TEST(InitialWeights, OfAStartThatDiedBeforeItsFirstCheckpointHaveToBeTheSame) {
  const TrainedRun run = begun_with(origin().folder, 1);
  std::string status = read_bytes(run.file("status.json"));
  status.replace(status.find("finished"), 8, "stopped");
  write_bytes(run.file("status.json"), status);
  const TrainedRun other = train_in(run.directory, 1, few);
  EXPECT_EQ(other.result.exit_code, 64) << other.result.all();
  EXPECT_HAS(other.result.err, "init.from = " + origin().folder + " there, \"\" now; the run can only begin again");
  const TrainedRun again = train_in(run.directory, 1, few + "--init.from " + origin().folder);
  EXPECT_EQ(again.result.exit_code, 0) << again.result.all();
  EXPECT_HAS(again.result.err, "initial weights: those of ");
}

/// The one message of a run on two ranks that is refused before it leaves anything.
void refuses(const std::string& arguments, const std::vector<std::string>& parts) {
  SCOPED_TRACE(arguments);
  const TrainedRun run = train(2, few + arguments);
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  for (const std::string& part : parts) EXPECT_HAS(run.result.err, part);
  EXPECT_EQ(occurrences(run.result.err, "[train] init.from"), 1) << run.result.err;
  EXPECT_FALSE(run.has("metrics.jsonl"));
}

TEST(InitialWeights, ThatDoNotFitAreRefusedWithEachKey) {
  write_bytes(workplace() / "wide.yaml",
              "dim: 48\nlayers: 2\nheads: 4\nkv_heads: 4\nhead_dim: 16\nffn_dim: 64\nvocab_size: 256\n");
  const std::string& folder = origin().folder;
  refuses("--model ./wide.yaml --init.from " + folder,
          {"init.from = " + folder, "dim = 32 there, 48 in the run's model, kv_heads = 2 there, 4 in the run's model"});
  refuses("--model ./wide.yaml --init.from " + origin().run.directory, {"step-000020: is of another model than wide"});
  refuses("--init.from nowhere", {"init.from = nowhere: there is no such folder"});
  refuses("--init.from data", {"data: has no weights; expected a Hugging Face folder"});
  ASSERT_EQ(in_workplace("cp -r " + folder + " other-tokens").exit_code, 0);
  write_bytes(workplace() / "other-tokens/tokenizer.json", "{}");
  refuses("--init.from other-tokens", {"has tokenizer.json, and the data were made with bytes (256 ids)"});
}

/// The last value of the file, which the second of two ranks reads.
TEST(InitialWeights, ThatAreNotFiniteAreRefusedByAllRanks) {
  ASSERT_EQ(in_workplace("cp -r " + origin().folder + " not-finite").exit_code, 0);
  const std::string path = workplace() / "not-finite/model-00001-of-00001.safetensors";
  std::string bytes = read_bytes(path);
  bytes.replace(bytes.size() - 4, 4, std::string("\x00\x00\xC0\x7F", 4));
  write_bytes(path, bytes);
  const TrainedRun run = begun_with("not-finite", 2);
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  EXPECT_HAS(run.result.err, "not-finite/model-00001-of-00001.safetensors: tensor ");
  EXPECT_HAS(run.result.err, "] is nan; expected finite weights: a model that has diverged is nothing to train on");
  EXPECT_EQ(occurrences(run.result.err, "expected finite weights"), 1) << run.result.err;
  EXPECT_FALSE(run.has("metrics.jsonl"));
}

/// The first step's loss is a number; what its update leaves is none.
TEST(InitialWeights, OfACheckpointThatDivergedAreRefused) {
  const TrainedRun diverged = train(1,
                                    "--train.steps 1 --optimizer.lr 1e30 --optimizer.weight_decay 1e30 "
                                    "--data.validation_fraction 0 --schedule.warmup_steps 0 --checkpoint.interval 1");
  ASSERT_EQ(checkpoints_of(diverged).size(), 1u) << diverged.result.all();
  const TrainedRun run = begun_with(diverged.directory, 2);
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  EXPECT_HAS(run.result.err, "step-000001: tensor master/");
  EXPECT_EQ(occurrences(run.result.err, "expected finite weights"), 1) << run.result.err;
  EXPECT_FALSE(run.has("metrics.jsonl"));
}

TEST(InitialWeights, OfAModelThatComputesOtherwiseAreWarnedOf) {
  write_bytes(workplace() / "turned.yaml", std::string(tiny_model) + "rope_theta: 10000\n");
  const TrainedRun run = begun_with(origin().folder, 1, "--model ./turned.yaml");
  EXPECT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_HAS(run.result.err, "were made for a model that computes otherwise: rope_theta = 500000 there, 10000 in");
}

TEST(InitialWeights, AreThoseOfTheNewestWholeCheckpointOfARun) {
  const TrainedRun expected = imported(1, "");
  const std::string whole = checkpoints_of(origin().run).front(), manifest = "/manifest.json";
  // A manifest that nobody can read, and one that reads well over a checkpoint that is none.
  for (const std::string& broken : {std::string("{}"), read_bytes(whole + manifest)}) {
    const std::string run = new_run_directory(), checkpoints = workplace() / (run + "/checkpoints/");
    std::filesystem::create_directories(checkpoints);
    std::filesystem::copy(whole, fmt::format("{}step-000020", checkpoints), std::filesystem::copy_options::recursive);
    write_bytes(fmt::format("{}step-000030{}", checkpoints, manifest), broken);
    const CommandResult dry =
        in_workplace(fmt::format("{} run.yaml --dry-run --ranks 1 --init.from {}", octet_train, run));
    EXPECT_EQ(dry.exit_code, 0) << dry.all();
    EXPECT_EQ(occurrences(dry.err, "it is passed over"), broken == "{}" ? 1 : 0) << dry.err;
    const TrainedRun begun = begun_with(run, 1);
    EXPECT_EQ(begun.losses(), expected.losses()) << begun.result.all();
    EXPECT_HAS(begun.result.err, "step-000030 is DAMAGED and not used");
    EXPECT_HAS(begun.result.err, "initial weights: those of " + run + "/checkpoints/step-000020, step 20");
  }
}

TEST(InitialWeights, ThatCannotBeReadAreNotThoseOfAnOlderCheckpoint) {
  const std::string run = new_run_directory(), checkpoints = workplace() / (run + "/checkpoints/");
  std::filesystem::create_directories(fmt::format("{}step-000030", checkpoints));
  std::filesystem::copy(checkpoints_of(origin().run).front(), fmt::format("{}step-000020", checkpoints),
                        std::filesystem::copy_options::recursive);
  std::filesystem::create_symlink("manifest.json", fmt::format("{}step-000030/manifest.json", checkpoints));
  const CommandResult dry =
      in_workplace(fmt::format("{} run.yaml --dry-run --ranks 1 --init.from {}", octet_train, run));
  EXPECT_EQ(dry.exit_code, 70) << dry.all();
  EXPECT_HAS(dry.err, "step-000030/manifest.json: Too many levels of symbolic links");
}

/// A link that leads to itself stands for a file server that fails.
TEST(InitialWeights, ThatCannotBeReadAreAskedForAgain) {
  for (const std::string name : {"config.json", "model.safetensors.index.json"}) {
    SCOPED_TRACE(name);
    const std::string folder = "not-given-" + name, file = workplace() / (folder + "/" + name);
    ASSERT_EQ(in_workplace("cp -r " + origin().folder + " " + folder).exit_code, 0);
    std::filesystem::remove(file);
    std::filesystem::create_symlink(name, file);
    const TrainedRun run = begun_with(folder, 2);
    EXPECT_EQ(run.result.exit_code, 70) << run.result.all();
    EXPECT_EQ(occurrences(run.result.err, name + ": Too many levels of symbolic links; tried again"), 3);
  }
}

/// Nor is it asked for again what the user has to mend.
TEST(InitialWeights, ThatTheUserMayNotReadAreAMistakeOfTheUser) {
  const std::string unreadable = unreadable_file();
  if (unreadable.empty()) GTEST_SKIP() << "the system has no file that root may not read";
  for (const char* name : {"config.json", "model-00001-of-00001.safetensors"}) {
    SCOPED_TRACE(name);
    const std::string folder = std::string("refused-") + name, file = workplace() / (folder + "/" + name);
    ASSERT_EQ(in_workplace("cp -r " + origin().folder + " " + folder).exit_code, 0);
    std::filesystem::remove(file);
    std::filesystem::create_symlink(unreadable, file);
    const TrainedRun run = begun_with(folder, 2);
    EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
    EXPECT_HAS(run.result.err, folder + "/" + name + ": Permission denied");
    EXPECT_EQ(occurrences(run.result.err, "tried again"), 0) << run.result.err;
    const CommandResult dry =
        in_workplace(fmt::format("{} run.yaml --dry-run --ranks 2 --init.from {}", octet_train, folder));
    EXPECT_EQ(dry.exit_code, 64) << dry.all();
  }
}

TEST(InitialWeights, ThatWereTrainedWithDropoutAreWarnedOf) {
  ASSERT_EQ(in_workplace("cp -r " + origin().folder + " dropped-out").exit_code, 0);
  const std::string path = workplace() / "dropped-out/config.json", none = "\"attention_dropout\": 0.0";
  std::string config = read_bytes(path);
  config.replace(config.find(none), none.size(), "\"attention_dropout\": 0.1");
  write_bytes(path, config);
  const std::string warning = "dropped-out/config.json: attention_dropout is 0.1: Octet has no dropout";
  EXPECT_EQ(occurrences(begun_with("dropped-out", 2).result.err, warning), 1);
  EXPECT_HAS(in_workplace(tool + "import dropped-out of-dropped-out").err, warning);
  EXPECT_EQ(begun_with(origin().folder, 1).result.err.find("dropout"), std::string::npos);
}

TEST(InitialWeights, OfAShorterContextAreWarnedOf) {
  write_bytes(workplace() / "short.yaml", std::string(tiny_model) + "max_positions: 16\n");
  const TrainedRun run = begun_with(origin().folder, 2, "--model ./short.yaml --checkpoint.interval 3");
  EXPECT_EQ(occurrences(run.result.err, "train.seq_len = 32 is more than max_positions = 16 of the model"), 1);
  EXPECT_HAS(run.result.err, "export with --max-positions 32");
  const std::string to_folder = tool + "export " + run.directory + " short-";
  EXPECT_HAS(in_workplace(to_folder + "said").err, "config.json gets 16 as max_position_embeddings");
  EXPECT_EQ(in_workplace(to_folder + "given --max-positions 32").err.find("gets 16"), std::string::npos);
}

TEST(InitialWeights, ADryRunLooksAtTheFolder) {
  const std::string dry = octet_train + " run.yaml --dry-run --ranks 2 --init.from ";
  const CommandResult good = in_workplace(dry + origin().folder), bad = in_workplace(dry + "nowhere");
  EXPECT_EQ(good.exit_code, 0) << good.all();
  EXPECT_HAS(good.out, "initial weights: those of " + origin().folder);
  EXPECT_EQ(bad.exit_code, 64);
  EXPECT_HAS(bad.err, "nowhere: there is no such folder");
}

TEST(ImportedCheckpoint, IsTrainedFrom) {
  const TrainedRun& first = finished(1, "--checkpoint.interval auto");
  const TrainedRun second{{}, new_run_directory()};
  const std::string exported = workplace() / "to-import";
  const CommandResult made =
      run_command("cd " + workplace().path() + " && " + tool + "export " + first.directory + " to-import && " + tool +
                  "import to-import " + second.directory + "/checkpoints/step-000000 --model-file imported.yaml");
  ASSERT_EQ(made.exit_code, 0) << made.all();
  const CommandResult trained = in_workplace(
      launched(2, "run.yaml --model ./imported.yaml --train.steps 3 --run.seed 5 --run.dir " + second.directory));
  ASSERT_EQ(trained.exit_code, 0) << trained.all();
  EXPECT_HAS(trained.err, "begins with " + second.directory + "/checkpoints/step-000000: step 0, written by ");
  EXPECT_EQ(trained.err.find("restart "), std::string::npos) << "it is the first start: " << trained.err;
  ASSERT_EQ(second.losses().size(), 3u);
  // It goes on where the first run ended, not where one begins.
  const auto before = first.losses();
  EXPECT_LT(std::abs(second.losses().front() - before.back()), std::abs(second.losses().front() - before.front()));
}

}  // namespace
}  // namespace octet::test
