// A checkpoint where no run looks for it, and an init.from beside one: nothing begins from other weights than meant.
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

const std::string tool = OCTET_BIN_DIR "/octet checkpoint ";

/// A checkpoint of step 20, and the folder that it was exported to.
std::string whole() {
  return checkpoints_of(saved_run()).front();
}
const std::string& folder() {
  static const std::string made = [] {
    const CommandResult r = in_workplace(tool + "export " + saved_run().directory + " of-saved");
    if (r.exit_code != 0) throw std::runtime_error(r.all());
    return std::string("of-saved");
  }();
  return made;
}

TEST(MisplacedCheckpoint, IsNotWrittenIntoAFolderOfCheckpoints) {
  for (const char* name : {"step-0", "step-00000000", "step-0/"}) {
    SCOPED_TRACE(name);
    const std::string run = new_run_directory(), there = run + "/checkpoints/";
    const CommandResult import = in_workplace(fmt::format("{}import {} {}{}", tool, folder(), there, name));
    EXPECT_EQ(import.exit_code, 64) << import.all();
    EXPECT_HAS(import.err, "no run finds a checkpoint of that name in its folder checkpoints; expected ");
    EXPECT_HAS(import.err, there + "step-000000");
    const CommandResult copy = in_workplace(fmt::format("{}reshard {} {}{} --writers 2", tool, whole(), there, name));
    EXPECT_EQ(copy.exit_code, 64) << copy.all();
    EXPECT_HAS(copy.err, there + "step-000020");
    EXPECT_FALSE(fs::exists(workplace() / run));
  }
  const std::string run = train(1, "--train.steps 1").directory;
  EXPECT_EQ(in_workplace(tool + "import " + folder() + " " + run + "/checkpoints/foo").exit_code, 64);
  for (const char* elsewhere : {" archive/step-0", " archive/checkpoints/llama-3-8b", " step-runs/checkpoints/llama"}) {
    const CommandResult r = in_workplace(tool + "import " + folder() + elsewhere);
    EXPECT_EQ(r.exit_code, 0) << r.all();
  }
}

/// A run directory that has a copy of the checkpoint under that name.
std::string with_copy_at(const std::string& name) {
  std::string run = new_run_directory();
  const fs::path to = workplace() / (run + "/" + name);
  fs::create_directories(to);
  fs::copy(whole(), to, fs::copy_options::recursive);
  return run;
}

TEST(MisplacedCheckpoint, RefusesTheStart) {
  for (const char* name : {"checkpoints/step-20", "checkpoints/foo", "checkpoints/step-00000020", "", "step-000020"}) {
    SCOPED_TRACE(name);
    const std::string run = with_copy_at(name);
    for (const char* resume : {"auto", "must", "never"}) {
      const TrainedRun start = train_in(run, 2, std::string("--checkpoint.resume ") + resume);
      EXPECT_EQ(start.result.exit_code, 64) << start.result.all();
      EXPECT_HAS(start.result.err, run + (*name == '\0' ? "" : "/") + name + " holds one, which no run finds there");
      EXPECT_HAS(start.result.err, "expected " + run + "/checkpoints/step-000020");
      EXPECT_FALSE(start.has("metrics.jsonl"));
    }
  }
}

TEST(MisplacedCheckpoint, IsNoneThatOctetLeavesUnfinishedOrSetsAside) {
  for (const char* name : {"checkpoints/step-000020.tmp", "checkpoints/step-000020.node-7-1.tmp",
                           "checkpoints/step-000020.damaged", "checkpoints/.trash", "step-000020.tmp", "saved"}) {
    SCOPED_TRACE(name);
    const TrainedRun start = train_in(with_copy_at(name), 1, "--train.steps 1");
    EXPECT_EQ(start.result.exit_code, 0) << start.result.all();
    EXPECT_EQ(start.losses().size(), 1u);
  }
}

TEST(MisplacedCheckpoint, IsNoneThatInitFromNamesAndNoManifestOfSomethingElse) {
  const std::string run = with_copy_at("checkpoints/base");
  const TrainedRun begun = train_in(run, 1, "--train.steps 1 --init.from " + run + "/checkpoints/base");
  EXPECT_EQ(begun.result.exit_code, 0) << begun.result.all();
  const std::string web = new_run_directory();
  for (const char* name : {"/manifest.json", "/checkpoints/exported/manifest.json"}) {
    write_bytes(workplace() / (web + name), "{\"name\": \"webapp\"}");
  }
  const TrainedRun other = train_in(web, 1, "--train.steps 1");
  EXPECT_EQ(other.result.exit_code, 0) << other.result.all();
}

TEST(Origin, OfAStepThatIsDoneStaysThatOfTheCheckpoint) {
  const std::string saving = "--checkpoint.interval 1 --train.steps ";
  const TrainedRun run = train(1, saving + "2 --init.from " + folder());
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  // A chain of jobs gives the same again, however it is spelled; another start gives none.
  for (const auto& [steps, given] : {std::pair("3", " --init.from ./" + folder() + "/"), {"4", ""}}) {
    const TrainedRun on = train_in(run.directory, 1, fmt::format("{}{}{}", saving, steps, given));
    ASSERT_EQ(on.result.exit_code, 0) << on.result.all();
    EXPECT_EQ(on.result.err.find("init.from"), std::string::npos) << on.result.err;
  }
  const TrainedRun other = train_in(run.directory, 2, saving + "5 --init.from another");
  ASSERT_EQ(other.result.exit_code, 0) << other.result.all();
  EXPECT_EQ(occurrences(other.result.err, "init.from = another is not read: the run goes on from "), 1);
  EXPECT_HAS(other.result.err, "step-000004, and init.from = " + folder() + " stays, as it says there");
  EXPECT_HAS(read_bytes(run.file("config.yaml")), "from: " + folder() + "\n");
  ASSERT_EQ(steps_of(other).front(), 5);
  EXPECT_HAS(checkpoint::read_manifest(checkpoints_of(other).front()).state.config, "from: " + folder() + "\n");
}

TEST(Origin, OfAnImportedCheckpointIsNotToldTwice) {
  const std::string run = new_run_directory();
  ASSERT_EQ(in_workplace(tool + "import " + folder() + " " + run + "/checkpoints/step-000000").exit_code, 0);
  const TrainedRun refused = train_in(run, 1, "--train.steps 2 --init.from " + folder());
  EXPECT_EQ(refused.result.exit_code, 64) << refused.result.all();
  EXPECT_HAS(refused.result.err, "step-000000: is a checkpoint of step 0, with weights of its own (init.from = \"\" ");
  EXPECT_HAS(refused.result.err, "there, " + folder() + " now); leave out init.from to begin with it");
  EXPECT_EQ(train_in(run, 1, "--train.steps 2").result.exit_code, 0);
}

}  // namespace
}  // namespace octet::test
