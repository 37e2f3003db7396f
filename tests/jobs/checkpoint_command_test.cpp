// `octet checkpoint`: what a person types, sees and gets as exit code, and copies in other formats.
#include "tests/jobs/checkpoint_command.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using checkpoint::test::write_small;

TEST_F(CheckpointCommand, Help) {
  EXPECT_HAS(run_command(OCTET_BIN_DIR "/octet --help").out, "checkpoint");
  const std::vector<std::string> names = {"list",  "show",   "verify", "diff", "reshard",
                                          "prune", "export", "import", "view"};
  const std::string all = expect(0, "--help");
  for (const std::string& name : names) {
    EXPECT_HAS(all, "  " + name + " ");
    EXPECT_HAS(expect(0, name + " --help"), "usage: octet checkpoint " + name);
  }
}

TEST_F(CheckpointCommand, WrongUseIsOneMessageAndExitCode64) {
  const std::string c = at(10), none = folder_ / "none", out = " " + (folder_ / "out");
  write_bytes(folder_ / "file", "x");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "which command?"},
      {"verfy", "nearest: verify"},
      {"list", "usage: octet checkpoint list RUN"},
      {"list " + none, none + ": is no folder"},
      {"show", "usage: octet checkpoint show CHECKPOINT"},
      {"show " + none, none + ": is no folder"},
      {"show " + (folder_ / "file"), "is no folder"},
      {"show " + folder_.path(), "is no checkpoint (no manifest.json) and no run that has one"},
      {"show " + c + " --all", "--all"},
      {"verify " + none, none},
      {"verify " + c + " --threads -1", "--threads = -1: expected integer >= 0"},
      {"diff " + c, "1 checkpoint given; expected two"},
      {"diff " + c + " " + none, none},
      {"reshard " + c + out, "--writers"},
      {"reshard " + c + " --writers 2", "expected IN and OUT"},
      {"reshard " + c + out + " --writers 0", "--writers = 0: expected integer >= 1, <= 65536"},
      {"reshard " + c + out + " --writers two", "two"},
      {"reshard " + c + " " + at(20) + " --writers 2", at(20)},
      {"reshard " + c + " " + folder_.path() + " --writers 2", folder_.path() + ": exists"},
      {"reshard " + c + " " + (folder_ / "step-000011") + " --writers 2", "checkpoint of step 10"},
      {"prune " + run(), "--keep"},
      {"prune " + run() + " --keep 0", "--keep = 0: expected integer >= 1"},
      {"prune " + run() + " --keep 1 --keep-every -1", "--keep-every = -1: expected integer >= 0"},
      {"prune " + (folder_ / "none") + " --keep 1", "is no folder"},
      {"export " + c, "expected CHECKPOINT and DIR"},
      {"export " + c + out + " --dtype float16", "--dtype is float16; expected fp32, bf16 or fp16"},
      {"export " + run() + out + " --average 0", "--average = 0: expected integer >= 1"},
      {"export " + c + out + " --average 2", c + ": is one checkpoint; expected a run"},
      {"export " + run() + out + " --average 4", "has 3 whole checkpoints, and 4 are asked for: " + at(30) + ", "},
      {"export " + c + out + " --max-shard-size 5XB", "--max-shard-size = \"5XB\""},
      {"export " + c + out + " --max-shard-size 0", "--max-shard-size = \"0\""},
      {"export " + c + out + " --max-shard-size -5GB", "--max-shard-size"},
      {"export " + c + out + " --max-shard-size 5", "--max-shard-size is 5 bytes; expected a size with its unit"},
      {"export " + c + out + " --max-shard-size 9999999999TB", "--max-shard-size"},
      {"export " + c + out + " --max-positions -1", "--max-positions = -1: expected integer >= 0"},
      {"export " + c + " " + run(), run() + ": exists"},
      {"import " + c, "expected DIR and CHECKPOINT"},
      {"import " + c + out, c + "/config.json"},
      {"import " + none + out + " --writers 65537", "--writers = 65537: expected integer >= 0, <= 65536"},
      {"view " + none, "is no folder"},
  };
  for (const auto& [arguments, expected] : cases) {
    SCOPED_TRACE(arguments);
    const CommandResult result = call(arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_HAS(result.all(), expected);
    EXPECT_EQ(std::ranges::count(result.all(), '\n'), 1) << result.all();
  }
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  EXPECT_FALSE(fs::exists(folder_ / "out.tmp"));
}

TEST_F(CheckpointCommand, ExportAndImport) {
  const std::string out = folder_ / "exported", back = folder_ / "back/step-000000";
  expect(0, "export " + run() + " " + out + " --max-shard-size 5KB", {"21 tensors in fp32"});
  const auto config = nlohmann::json::parse(read_bytes(out + "/config.json"));
  EXPECT_EQ(config["max_position_embeddings"], 32);
  EXPECT_EQ(config["intermediate_size"], 31);
  EXPECT_FALSE(fs::exists(out + ".tmp"));
  expect(0, "import " + out + " " + back + " --writers 2 --model-file " + (folder_ / "model.yaml"), {"in 2 file(s)"});
  EXPECT_HAS(read_bytes(folder_ / "model.yaml"), "ffn_dim: 31");
  EXPECT_HAS(expect(0, "show " + back + " --config"), "model_shape:");
  const std::string difference = expect(1, "diff " + at(30) + " " + back);
  EXPECT_EQ(occurrences(difference, "identical\n"), 21 + 1);  // masters, and the last line
  EXPECT_HAS(difference, "21 of 63 tensors identical");

  expect(0, "export " + back + " " + (folder_ / "again") + " --max-shard-size 5KB");
  for (const auto& entry : fs::directory_iterator(out)) {
    EXPECT_EQ(read_bytes(entry.path()), read_bytes(folder_ / "again/" + entry.path().filename().string()));
  }
  // A config.json may not say for how long a context the model is.
  auto silent = config;
  silent.erase("max_position_embeddings");
  fs::copy(out, folder_ / "silent");
  write_bytes(folder_ / "silent/config.json", silent.dump());
  expect(0, "import " + (folder_ / "silent") + " " + (folder_ / "of-silent"), {"in 1 file(s)"});
  expect(64, "export " + (folder_ / "of-silent") + " " + (folder_ / "none"), {"give --max-positions"});
  expect(64, "export " + run() + " " + (folder_ / "bf16") + " --dtype bf16", {"beyond the largest value of bf16"});
  const std::string small = folder_ / "small/step-000040";
  write_without_the_largest(small, 40);
  expect(0, "export " + small + " " + (folder_ / "bf16") + " --dtype bf16 --max-shard-size 1MiB", {"in 1 file(s)"});
  expect(64, "export " + run() + " " + out, {out + ": exists"});
  expect(64, "import " + out + " " + back, {back + ": exists"});
}

TEST_F(CheckpointCommand, ExportAsFp16) {
  expect(64, "export " + run() + " " + (folder_ / "half") + " --dtype fp16",
         {"tok_embeddings.weight[0,5] is 3.4028235e+38", "beyond the largest value of fp16"});
  EXPECT_FALSE(fs::exists(folder_ / "half"));
  EXPECT_FALSE(fs::exists(folder_ / "half.tmp"));
}

TEST_F(CheckpointCommand, ExportOfTheMean) {
  const std::string mean = folder_ / "mean", newest = folder_ / "newest";
  expect(0, "export " + run() + " " + mean + " --average 2", {"mean of 2 checkpoints: steps 20, 30"});
  expect(0, "export " + run() + " " + newest, {"fp32"});
  EXPECT_NE(read_bytes(mean + "/model-00001-of-00001.safetensors"),
            read_bytes(newest + "/model-00001-of-00001.safetensors"));
  // One that is damaged is passed over, and the next older one is taken.
  flip(at(20) + "/writer-00000.h5");
  expect(0, "export " + run() + " " + (folder_ / "other") + " --average 2",
         {at(20) + ": is damaged and passed over", "steps 10, 30"});
  expect(64, "export " + run() + " " + (folder_ / "third") + " --average 3",
         {"has 2 whole checkpoints, and 3 are asked for: " + at(30) + ", " + at(10)});
  fs::remove_all(at(20));
  write_small(at(20), 20, 1, true);
  expect(
      64, "export " + run() + " " + (folder_ / "third") + " --average 2",
      {at(20) + " and " + at(30) + " are of different models, which have no mean: tied_embedding is true and false"});
}

// Of a run the newest that is whole, whatever reads its weights; one that is named has to be whole itself.
TEST_F(CheckpointCommand, ADamagedNewestOfARunIsPassedOver) {
  flip(at(30) + "/writer-00001.h5");
  const std::string passed = at(30) + ": is damaged and passed over";
  expect(0, "export " + run() + " " + (folder_ / "whole"),
         {passed, "newest whole checkpoint of " + run() + ": " + at(20)});
  expect(0, "export " + at(20) + " " + (folder_ / "named"));
  expect(0, "export " + run() + " " + (folder_ / "mean") + " --average 2", {passed, "steps 10, 20"});
  const std::string weights = "/model-00001-of-00001.safetensors";
  EXPECT_EQ(read_bytes(folder_ / ("whole" + weights)), read_bytes(folder_ / ("named" + weights)));
  expect(0, "reshard " + run() + " " + (folder_ / "step-000020") + " --writers 2", {passed});
  expect(0, "diff " + run() + " " + at(20), {passed, "63 of 63 tensors identical"});
  expect(64, "export " + at(30) + " " + (folder_ / "none"), {"is damaged and was not used"});
  for (const int step : {10, 20}) fs::remove(at(step) + "/manifest.json");
  expect(64, "export " + run() + " " + (folder_ / "none"), {"has 0 whole checkpoints, and 1 is asked for"});
}

// That says nothing of what is stored there, so no older one is taken in its place.
TEST_F(CheckpointCommand, ANewestOfARunThatCannotBeReadIsNotPassedOver) {
  const std::string out = folder_ / "out", unread = at(30) + ": cannot be read";
  const auto refuses = [&](const std::string& name) {
    fs::remove(at(30) + "/" + name);
    fs::create_symlink(name, at(30) + "/" + name);  // too many levels of links
    for (const char* options : {"", " --average 2"}) expect(70, "export " + run() + " " + out + options, {unread});
    expect(70, "reshard " + run() + " " + out + " --writers 2", {unread});
    const std::string list = expect(0, "list " + run(), {name + " cannot be read: Too many levels"});
    EXPECT_EQ(occurrences(list, "damaged"), 0);
    EXPECT_EQ(occurrences(list, "committed"), 2);
    EXPECT_FALSE(fs::exists(out));
  };
  refuses("writer-00000.h5");
  expect(70, "export " + at(30) + " " + out, {unread + " and was not used"});
  refuses("manifest.json");
  expect(70, "export " + at(30) + " " + out, {"cannot read " + at(30) + "/manifest.json"});
  expect(0, "export " + at(20) + " " + out);
}

// The command stops itself before it opens the manifest (tests/jobs/stop_at.cpp) and goes on when the folder is gone.
TEST_F(CheckpointCommand, ACheckpointThatItsRunRemovesMeanwhileIsReplacedByTheNewest) {
  const auto export_while_removed = [&](const std::string& path) {
    write_small(at(40), 40, 4);
    return run_command(
        fmt::format(
            "PMI_RANK=1 LD_PRELOAD={} OCTET_STOP_AT=open OCTET_STOP_FILE=step-000040/manifest.json {}export {} {} & "
            "until grep -q 'State:.T' /proc/$!/status; do sleep 0.05; done; rm -r {}; kill -CONT $!; wait $!",
            OCTET_STOP_AT_LIBRARY, octet_checkpoint, path, folder_ / "out", at(40)),
        60);
  };
  const CommandResult named = export_while_removed(at(40));
  EXPECT_EQ(named.exit_code, 64) << named.all();
  EXPECT_HAS(named.err, at(40) + ": is not there any more: its run has removed it meanwhile");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  const CommandResult newest = export_while_removed(run());
  EXPECT_EQ(newest.exit_code, 0) << newest.all();
  EXPECT_HAS(newest.err, at(40) + " is not there any more, as its run goes on; the newest is looked for again");
  EXPECT_HAS(newest.err, "newest whole checkpoint of " + run() + ": " + at(30));
}

TEST_F(CheckpointCommand, AnImportThatFailsCanBeRepeated) {
  const std::string in = folder_ / "exported", made = folder_ / "new", file = made + "/models/a.yaml";
  const std::string checkpoint = made + "/run/checkpoints/step-000000";
  const std::string import = "import " + in + " " + checkpoint + " --model-file " + file;
  expect(0, "export " + run() + " " + in);
  const CommandResult full = run_command("ulimit -f 8; " + octet_checkpoint + import);
  EXPECT_EQ(full.exit_code, 70) << full.all();
  EXPECT_FALSE(fs::exists(made));
  expect(0, import);
  EXPECT_HAS(read_bytes(file), "ffn_dim: 31");
  // As an import that was killed leaves it.
  fs::remove_all(made + "/run");
  expect(0, import);
  // Any other one that is there is left alone, and so is the rest.
  fs::remove_all(made + "/run");
  write_bytes(file, "mine");
  expect(64, import, {"--model-file = " + file + ": exists; expected the name of a new file"});
  const std::string below_a_file = file + "/sub/model.yaml", nowhere = folder_ / "not-made";
  expect(64, "import " + in + " " + nowhere + " --model-file " + below_a_file, {"--model-file = " + below_a_file});
  EXPECT_FALSE(std::filesystem::exists(nowhere)) << "the weights come after";
  EXPECT_EQ(read_bytes(file), "mine");
  EXPECT_FALSE(fs::exists(made + "/run"));
}

TEST_F(CheckpointCommand, AnImportHasNoLoss) {
  const std::string in = folder_ / "exported", imported = folder_ / "imported/step-000000";
  expect(0, "export " + run() + " " + in);
  expect(0, "import " + in + " " + imported);
  EXPECT_HAS(expect(0, "show " + imported), "loss         -\n");
  EXPECT_EQ(expect(0, "list " + (folder_ / "imported")).find("0.0000"), std::string::npos);
}

// As any user but root sees it.
TEST_F(CheckpointCommand, WhatTheCallerMayNotReadIsExitCode64) {
  const std::string as_other = "setpriv --bounding-set=-dac_override,-dac_read_search ";
  if (run_command(as_other + "true").exit_code != 0) GTEST_SKIP() << "no setpriv that may take rights away";
  const std::string in = folder_ / "exported";
  expect(0, "export " + run() + " " + in);
  write_bytes(in + "/tokenizer.json", "{}");
  for (const std::string& name : {in + "/config.json", in + "/tokenizer.json"}) {
    fs::permissions(name, fs::perms::none);
    const CommandResult r =
        run_command(fmt::format("{}{}import {} {}", as_other, octet_checkpoint, in, folder_ / "none"));
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, "cannot read " + name + ": Permission denied");
    fs::permissions(name, fs::perms::owner_read);
  }
}

TEST_F(CheckpointCommand, TheMeanOfARunThatChangedMaxPositions) {
  const auto tensors = checkpoint::training_tensors(checkpoint::test::small_model());
  checkpoint::RunState state = checkpoint::test::small_state(40);
  state.config += "  max_positions: 64\n";
  checkpoint::test::write_values(at(40), state, tensors, checkpoint::test::values_of(tensors, 4), 3);
  expect(0, "export " + run() + " " + (folder_ / "mean") + " --average 2", {"mean of 2 checkpoints: steps 30, 40"});
  EXPECT_HAS(read_bytes(folder_ / "mean/config.json"), "\"max_position_embeddings\": 64");
}

TEST_F(CheckpointCommand, AnExportOrImportThatEndsEarlyIsNeverTakenForAWholeOne) {
  const std::string out = folder_ / "exported";
  fs::create_directories(out + ".tmp");  // as one that is killed leaves it
  expect(64, "export " + run() + " " + out, {"exported.tmp: exists, left by a run that did not finish"});
  fs::remove_all(out + ".tmp");
  const std::string limit = "ulimit -f 8; ";  // a write beyond it fails as on a full disk, and ends nothing by a signal
  const CommandResult full = run_command(limit + octet_checkpoint + "export " + run() + " " + out);
  EXPECT_EQ(full.exit_code, 70) << full.all();
  EXPECT_HAS(full.all(), "exported.tmp/model-00001-of-00001.safetensors: cannot be written");
  EXPECT_FALSE(fs::exists(out + ".tmp"));
  EXPECT_FALSE(fs::exists(out));

  expect(0, "export " + run() + " " + out);
  const CommandResult import = run_command(limit + octet_checkpoint + "import " + out + " " + (folder_ / "c"));
  EXPECT_EQ(import.exit_code, 70) << import.all();
  EXPECT_FALSE(fs::exists(folder_ / "c"));
  EXPECT_FALSE(fs::exists(folder_ / "c.tmp"));
}

}  // namespace
}  // namespace octet::test
