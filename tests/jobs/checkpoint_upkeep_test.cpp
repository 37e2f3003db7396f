// `octet checkpoint` with the checkpoints that a run has: list, show, verify, view, diff, reshard, prune.
#include <fcntl.h>
#include <sys/file.h>

#include "checkpoints/format/hash.h"
#include "src/base/files.h"
#include "tests/jobs/checkpoint_command.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using checkpoint::test::write_small;

TEST_F(CheckpointCommand, List) {
  const std::string all = expect(0, "list " + run(), {"step", "time (UTC)", "loss"});
  EXPECT_EQ(occurrences(all, "committed"), 3);
  EXPECT_LT(all.find("       30  "), all.find("       10  "));
  EXPECT_EQ(expect(0, "list " + run() + "/checkpoints/"), all);

  fs::create_directory(run() + "/checkpoints/step-000040.tmp");
  fs::remove(at(30) + "/writer-00001.h5");
  flip(at(20) + "/manifest.json");
  const std::string damaged =
      expect(0, "list " + run(),
             {"unfinished: step-000040.tmp", "damaged: writer-00001.h5 is missing", "step-000020/manifest.json"});
  EXPECT_EQ(occurrences(damaged, "committed"), 1);
  EXPECT_EQ(occurrences(damaged, "1.2500"), 2);

  std::string newer = read_bytes(at(10) + "/manifest.json");
  const std::string known = R"("version": 1)";
  newer.replace(newer.find(known), known.size(), R"("version": 3)");
  newer.erase(newer.rfind("\"xxh3_128\""));
  write_bytes(at(10) + "/manifest.json", newer + checkpoint::manifest_last_line(checkpoint::hash_of(newer)));
  EXPECT_EQ(occurrences(expect(0, "list " + run(), {"  of version 3, which this program does not know"}), "damaged: "),
            2);
  expect(64, "export " + run() + " " + (folder_ / "none"), {"step-000010/manifest.json: of version 3"});

  fs::create_directory(folder_ / "empty");
  expect(0, "list " + (folder_ / "empty"), {"holds no checkpoint"});
}

TEST_F(CheckpointCommand, Show) {
  const std::string text = expect(
      0, "show " + at(20),
      {"step         20", "loss         1.250000", "seed         7", "0000000000abcdef", "dp_replicate 1 x dp_shard 3",
       "octet test, format 1", "writer-00002.h5", "master/layers.1.feed_forward.w3.weight", "[31, 20]", "f32"});
  EXPECT_EQ(occurrences(text, "3 piece(s)"), 63);
  EXPECT_EQ(expect(0, "show " + at(20) + " --config"), checkpoint::test::small_config());
  // A run stands for its newest checkpoint.
  expect(0, "show " + run(), {"newest checkpoint of " + run(), "step         30"});
}

TEST_F(CheckpointCommand, ShowsTextsOfAManifestOnOneLineAndWithoutControlCharacters) {
  auto manifest = checkpoint::read_manifest(at(30));
  manifest.state.layout = "dp\x1b[2J\nseed         8";
  manifest.state.config = "a: \x1b[2J\n";
  write_bytes(at(30) + "/manifest.json", checkpoint::to_json(manifest));
  EXPECT_HAS(expect(0, "show " + at(30)), "layout       dp\\x1b[2J\\nseed         8\n");
  EXPECT_EQ(expect(0, "show " + at(30) + " --config"), manifest.state.config) << "into a file";
}

TEST_F(CheckpointCommand, Verify) {
  const std::string all = at(10) + " " + at(20) + " " + at(30) + "/";
  EXPECT_EQ(occurrences(expect(0, "verify " + all), ": whole, "), 3);
  flip(at(10) + "/writer-00000.h5");
  fs::resize_file(at(10) + "/writer-00002.h5", 64);
  flip(at(30) + "/manifest.json");
  const CommandResult result = call("verify --threads 3 " + all);
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_EQ(occurrences(result.out, ": whole, "), 1);
  EXPECT_EQ(occurrences(result.err, " E "), 3) << result.err;
  EXPECT_HAS(result.err, at(10) + "/writer-00000.h5: ");
  EXPECT_HAS(result.err, at(10) + "/writer-00002.h5: has 64 bytes, expected");
  EXPECT_HAS(result.err, at(30) + "/manifest.json");
  // A checkpoint under the name of another step would be taken for it.
  fs::rename(at(20), at(21));
  expect(64, "verify " + at(21), {"is of step 20"});
}

/// HDF5 would ask for a lock that somebody has, or that the file system does not know.
TEST_F(CheckpointCommand, TakesNoLocksWhateverTheEnvironmentSays) {
  const std::string path = at(10) + "/writer-00000.h5";
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0);
  const CommandResult result = run_command("HDF5_USE_FILE_LOCKING=TRUE " + octet_checkpoint + "verify " + at(10));
  EXPECT_EQ(result.exit_code, 0) << result.all();
}

TEST_F(CheckpointCommand, VerifyLooksAtAViewToo) {
  const std::string view = at(10) + "/view.h5";
  expect(0, "view " + at(10));
  expect(0, "verify " + at(10), {": whole, "});
  const std::string good = read_bytes(view);
  flip(view);
  const std::vector<std::string> parts = {": whole, ", view + ": damaged", "octet checkpoint view " + at(10)};
  expect(64, "verify " + at(10), parts);
  expect(0, "reshard " + at(10) + " " + (folder_ / "out") + " --writers 1");  // nothing else cares
  expect(0, "view " + at(10));
  EXPECT_EQ(read_bytes(view), good);
  write_bytes(at(20) + "/view.h5", good);  // that of another checkpoint
  expect(64, "verify " + at(20), {": whole, ", at(20) + "/view.h5: "});
}

TEST_F(CheckpointCommand, AFileThatCannotBeReadIsExitCode70) {
  fs::remove(at(10) + "/writer-00000.h5");
  fs::create_symlink("writer-00000.h5", at(10) + "/writer-00000.h5");  // too many levels of links
  expect(70, "verify " + at(10), {"writer-00000.h5: cannot be read"});
}

TEST_F(CheckpointCommand, Diff) {
  expect(0, "reshard " + at(10) + " " + (folder_ / "same") + " --writers 2");
  expect(0, "diff " + at(10) + " " + (folder_ / "same"), {"63 of 63 tensors identical", "norm.weight"});
  EXPECT_EQ(occurrences(expect(0, "diff --brief " + at(10) + " " + (folder_ / "same")), "\n"), 1);
  expect(1, "diff " + at(10) + " " + at(20), {"step         10 in A, 20 in B", "differ, max ", "relative "});
  write_small(folder_ / "tied", 10, 10, true);
  expect(1, "diff " + at(10) + " " + (folder_ / "tied"), {"master/output.weight", "only in A", "config"});
  flip(at(20) + "/writer-00001.h5");
  expect(64, "diff " + at(10) + " " + at(20), {"step-000020/writer-00001.h5", "is damaged and was not used"});
}

TEST_F(CheckpointCommand, Reshard) {
  const std::string out = folder_ / "new/step-000010";
  expect(0, "reshard " + at(10) + " " + out + " --writers 7", {"step 10", "in 7 file(s)"});
  expect(0, "verify " + out);
  expect(0, "diff " + at(10) + " " + out, {"63 of 63 tensors identical"});
  expect(64, "reshard " + at(10) + " " + out + " --writers 2", {out + ": exists"});
  fs::create_directory(folder_ / "half.tmp");
  expect(64, "reshard " + at(10) + " " + (folder_ / "half") + " --writers 2", {"half.tmp: exists"});
  EXPECT_FALSE(fs::exists(folder_ / "half"));
  flip(at(20) + "/writer-00001.h5");
  expect(64, "reshard " + at(20) + " " + (folder_ / "damaged") + " --writers 2", {"is damaged and was not used"});
  EXPECT_FALSE(fs::exists(folder_ / "damaged"));
}

TEST_F(CheckpointCommand, Prune) {
  const std::string dry = expect(0, "prune " + run() + " --keep 1 --keep-every 20 --dry-run",
                                 {"would remove " + at(10), "2 of 3 checkpoints would stay"});
  EXPECT_EQ(occurrences(dry, "would remove"), 1);
  EXPECT_TRUE(fs::exists(at(10)));
  expect(0, "prune " + run() + " --keep 2", {"removed " + at(10), "2 of 3 checkpoints stay"});
  EXPECT_FALSE(fs::exists(at(10)));

  // A damaged one does not count.
  write_small(at(10), 10);
  flip(at(20) + "/writer-00000.h5");
  expect(0, "prune " + run() + " --keep 2", {"step-000020/writer-00000.h5", "3 of 3 checkpoints stay"});
  flip(at(20) + "/writer-00000.h5");
  fs::remove_all(at(10));

  // The newest is damaged: what is older than the newest whole one may go, and the damaged one is left for a person.
  write_small(at(10), 10);
  flip(at(30) + "/writer-00000.h5");
  expect(0, "prune " + run() + " --keep 1", {"step-000030/writer-00000.h5", "removed " + at(10)});
  EXPECT_TRUE(fs::exists(at(20)));
  EXPECT_TRUE(fs::exists(at(30)));

  flip(at(20) + "/writer-00000.h5");
  expect(64, "prune " + run() + " --keep 1", {"none of its 2 checkpoints is whole; nothing was removed"});
  EXPECT_TRUE(fs::exists(at(20)));
  expect(64, "prune " + folder_.path() + " --keep 1", {"holds no checkpoint"});
}

/// A link that leads to itself stands for a file server that fails.
TEST_F(CheckpointCommand, PruneThatCouldReadNothingIsExitCode70) {
  const auto make_unreadable = [](const std::string& path) {
    fs::remove_all(path);
    fs::create_symlink(fs::path(path).filename(), path);
  };
  make_unreadable(at(30) + "/manifest.json");
  expect(0, "prune " + run() + " --keep 1 --dry-run",
         {"cannot read " + at(30) + "/manifest.json", "would remove " + at(10), "2 of 3 checkpoints would stay"});
  flip(at(20) + "/writer-00000.h5");
  make_unreadable(at(10) + "/writer-00001.h5");
  expect(70, "prune " + run() + " --keep 1", {"3 checkpoints is known to be whole, and 2 could not be read"});
  for (const int step : {10, 20, 30}) EXPECT_TRUE(fs::exists(at(step))) << step;
  make_unreadable(run() + "/checkpoints");
  expect(70, "prune " + run() + " --keep 1", {"cannot read " + run() + "/checkpoints"});
}

TEST_F(CheckpointCommand, View) {
  expect(0, "view " + at(10), {at(10) + "/view.h5"});
  EXPECT_TRUE(fs::exists(at(10) + "/view.h5"));
  expect(0, "view " + at(10), {"view.h5 was there"});
  expect(0, "verify " + at(10));  // no part of the checkpoint
}

}  // namespace
}  // namespace octet::test
