// What is kept of the finished parts of a run where a file of its input was replaced, removed or renamed since.
#include "src/corpus/part_folder.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CorpusTest;
using test::error_of;
using test::read_bytes;
using test::write_bytes;

class ChangedInput : public CorpusTest {
 protected:
  ChangedInput() {
    for (int file = 0; file < 6; ++file) write_bytes(path(file), documents(file, 40));
  }
  std::string path(int file) const { return folder_ / fmt::format("in/{}.jsonl", file); }
  static std::string documents(int file, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{{\"text\": \"document {} of {}\"}}\n", i, file);
    return text;
  }
  PrepareOptions run(const std::string& output = "x") const {
    PrepareOptions o = options({"in"}, output);
    o.workers = 1;
    o.part_bytes = 1500;  // a file a part
    o.holdout = 0.2;
    o.overwrite = false;
    return o;
  }
  void fail() const {
    EXPECT_HAS(error_of([&] { prepare(run()); }), "more than --max-bad 0 allows");
    EXPECT_TRUE(fs::exists(PartFolder::path_of(folder_ / "out/x")));
  }
  /// Goes on, to what a run without an interruption gives; how many parts it kept.
  std::int64_t kept() const {
    const PrepareReport report = prepare(run());
    prepare(run("whole"));
    EXPECT_EQ(both(), both("whole"));
    EXPECT_EQ(both("x-holdout"), both("whole-holdout"));
    EXPECT_EQ(report.counts.kept.documents, TokenFile(folder_ / "out/whole").documents());
    EXPECT_FALSE(fs::exists(PartFolder::path_of(folder_ / "out/x")));
    EXPECT_GT(report.parts, 4);
    return report.parts_before;
  }
};

TEST_F(ChangedInput, AllPartsBeforeABadFileAreKeptWhereItIsReplacedRemovedOrRenamed) {
  const std::string bad = documents(5, 3) + "{\n" + documents(5, 30);
  write_bytes(path(5), bad);
  fail();
  write_bytes(path(5), documents(5, 50));
  EXPECT_GE(kept(), 5) << "replaced";

  fs::remove_all(folder_ / "out");
  write_bytes(path(5), bad);
  write_bytes(path(6), documents(6, 30));
  fail();
  fs::remove(path(5));
  EXPECT_GE(kept(), 5) << "removed";

  fs::remove_all(folder_ / "out");
  write_bytes(path(5), bad);
  fail();
  fs::rename(path(5), folder_ / "in/5.bad");
  write_bytes(folder_ / "in/5.bad", std::string(1000, 'x'));
  EXPECT_GE(kept(), 5) << "renamed";
}

/// Parts that were taken over already lie behind it in PREFIX.bin.tmp.
TEST_F(ChangedInput, OnlyThePartsBeforeAChangedOneAreKeptWhereThoseBehindItWereTakenOver) {
  write_bytes(path(5), documents(5, 3) + "{\n");
  fail();
  const std::string third = PartFolder::path_of(folder_ / "out/x") + "/00002";
  ASSERT_TRUE(fs::exists(third + ".idx"));
  write_bytes(path(1), documents(9, 45));
  write_bytes(path(5), documents(5, 3));
  const std::int64_t parts = kept();
  EXPECT_GE(parts, 1);
  EXPECT_LE(parts, 4);
}

/// What was taken over of the parts lies in PREFIX.bin.tmp alone.
TEST_F(ChangedInput, PartsThatWereTakenOverAreNotKeptWhereTheyAreGone) {
  write_bytes(path(5), documents(5, 3) + "{\n");
  for (const std::string gone : {"x", "x-holdout"}) {
    fail();
    const std::string part = PartFolder::path_of(folder_ / "out/x") + "/00000";
    fs::remove(part + (gone == "x" ? ".bin" : "-holdout.bin"));  // as it is, mostly
    fs::remove(folder_ / ("out/" + gone + ".bin.tmp"));
    write_bytes(path(5), documents(5, 50));
    EXPECT_HAS(error_of([&] { prepare(run()); }), "--input was 6 files of ");
    EXPECT_TRUE(fs::exists(part + ".idx"));
    PrepareOptions o = run();
    o.overwrite = true;
    EXPECT_EQ(prepare(o).parts_before, 0);
    write_bytes(path(5), documents(5, 3) + "{\n");
    fs::remove_all(folder_ / "out");
  }
}

TEST_F(ChangedInput, OverwriteBeginsAnew) {
  write_bytes(path(5), documents(5, 3) + "{\n");
  fail();
  write_bytes(path(5), documents(5, 50));
  PrepareOptions o = run();
  o.overwrite = true;
  EXPECT_EQ(prepare(o).parts_before, 0);
  prepare(run("whole"));
  EXPECT_EQ(both(), both("whole"));
}

TEST_F(ChangedInput, WhereNoPartIsLeftTheRunIsRefusedAndNothingIsTakenAway) {
  write_bytes(path(5), documents(5, 3) + "{\n");
  fail();
  const std::string parts = PartFolder::path_of(folder_ / "out/x");
  write_bytes(path(0), documents(0, 41));
  for (int file = 1; file < 6; ++file) write_bytes(path(file), documents(file, 39));
  EXPECT_HAS(error_of([&] { prepare(run()); }), "--input was 6 files of ");
  EXPECT_TRUE(fs::exists(parts + "/00000.idx"));
  PrepareOptions o = run();
  o.eos = false;
  EXPECT_HAS(error_of([&] { prepare(o); }), "--eos was true, is false; --input was 6 files of ");
}

}  // namespace
}  // namespace octet
