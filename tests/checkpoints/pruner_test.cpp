#include "checkpoints/save/pruner.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "checkpoints/restore/restore.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"

namespace octet::checkpoint {
namespace {

using test::Steps;

/// Checkpoints of steps 10, 20, 30 and 40, of which two shall stay.
class Pruning : public testing::Test {
 protected:
  Pruning() {
    for (const std::int64_t step : {10, 20, 30, 40}) test::write_small(at(step), step);
  }

  std::string at(std::int64_t step) const { return root_ / directory_name(step); }
  std::string file(std::int64_t step) const { return at(step) + "/writer-00001.h5"; }

  Steps left() const {
    Steps steps;
    for (const std::string& path : list_checkpoints(root_.path())) steps.push_back(step_of(path).value());
    return steps;
  }

  Verdicts::Files look_at(std::int64_t step) const {
    return Verdicts::look_at(at(step), read_manifest(at(step)).files);
  }
  std::int64_t bytes_of(std::int64_t step) const {
    std::int64_t bytes = 0;
    for (const StoredFile& f : read_manifest(at(step)).files) bytes += f.bytes;
    return bytes;
  }

  /// After the commit of a step; what it logs.
  static std::string logged(const std::function<void()>& work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  }
  std::string prune_after(std::int64_t step, Pruner& pruner) const {
    return logged([&] {
      pruner.committed(step, look_at(step));
      pruner.finish();
    });
  }

  test::TemporaryDirectory root_;
  const std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  const std::unique_ptr<Communicator> world_ = make_self_communicator(*stream_, "world");
  PruneRule rule_{.root = root_.path(), .keep_last = 2};
};

TEST_F(Pruning, WhatIsOlderThanTheLastWholeOnesGoes) {
  Pruner pruner(rule_, {}, *world_);
  EXPECT_EQ(prune_after(40, pruner), "");
  EXPECT_EQ(left(), (Steps{40, 30}));
  EXPECT_EQ(pruner.bytes_read(), bytes_of(30)) << "the one that was committed needs no reading";
}

TEST_F(Pruning, OneWithAFlippedBitDoesNotCount) {
  test::flip_bit(file(30), 5000);
  Pruner pruner(rule_, {}, *world_);
  const std::string said = prune_after(40, pruner);
  EXPECT_PRED2(test::contains, said, at(30) + ": ");
  EXPECT_PRED2(test::contains, said, "writer-00001.h5: found hash ");
  EXPECT_PRED2(test::contains, said, "does not count for checkpoint.keep");
  EXPECT_EQ(left(), (Steps{40, 30, 20}));
  const std::int64_t read = pruner.bytes_read();
  EXPECT_EQ(prune_after(40, pruner), "") << "is known";
  EXPECT_EQ(pruner.bytes_read(), read);
  EXPECT_EQ(left(), (Steps{40, 30, 20}));
}

TEST_F(Pruning, NorDoThoseThatAreDamagedAtAGlance) {
  Verdicts known;
  for (const std::int64_t step : {20, 30}) known.keep(at(step), look_at(step), true);  // they were whole once
  std::filesystem::remove(file(30));
  test::flip_bit(at(20) + "/manifest.json", 40);
  Pruner pruner(rule_, known, *world_);
  const std::string said = prune_after(40, pruner);
  EXPECT_PRED2(test::contains, said, at(30) + ": ");
  EXPECT_PRED2(test::contains, said, "writer-00001.h5: is missing");
  EXPECT_PRED2(test::contains, said, at(20) + "/manifest.json");
  EXPECT_EQ(left(), (Steps{40, 30, 20, 10}));
}

TEST_F(Pruning, WhatIsKnownToBeWholeIsNotReadAgain) {
  Verdicts known;
  known.keep(at(30), look_at(30), true);
  Pruner pruner(rule_, known, *world_);
  prune_after(40, pruner);
  EXPECT_EQ(left(), (Steps{40, 30}));
  EXPECT_EQ(pruner.bytes_read(), 0);
}

TEST_F(Pruning, AFileThatChangedIsReadAgain) {
  Verdicts known;
  known.keep(at(30), look_at(30), true);
  const auto time = std::filesystem::last_write_time(file(30));
  test::flip_bit(file(30), 5000);
  std::filesystem::last_write_time(file(30), time + std::chrono::nanoseconds(1));
  Pruner pruner(rule_, known, *world_);
  EXPECT_PRED2(test::contains, prune_after(40, pruner), "writer-00001.h5: found hash ");
}

TEST_F(Pruning, AFileOfAnotherInodeIsReadAgain) {
  Verdicts known;
  known.keep(at(30), look_at(30), true);
  std::filesystem::copy_file(file(30), root_ / "copy");
  std::filesystem::last_write_time(root_ / "copy", std::filesystem::last_write_time(file(30)));
  std::filesystem::rename(root_ / "copy", file(30));
  Pruner pruner(rule_, known, *world_);
  EXPECT_EQ(prune_after(40, pruner), "");
  EXPECT_EQ(pruner.bytes_read(), bytes_of(30));
}

TEST_F(Pruning, WithoutTimeToReadNothingGoes) {
  rule_.patience = std::chrono::seconds(0);
  Pruner pruner(rule_, {}, *world_);
  EXPECT_PRED2(test::contains, prune_after(40, pruner), "old checkpoints stay");
  EXPECT_EQ(left(), (Steps{40, 30, 20, 10}));
}

TEST_F(Pruning, RestsWhileItReadsUnlessSomebodyWaits) {
  Pruner pruner(rule_, {}, *world_);
  pruner.restored(40);  // as a start does, which knows nothing of the older ones
  while (left() != (Steps{40, 30})) pruner.poll();
  EXPECT_EQ(pruner.bytes_read(), bytes_of(30));
  EXPECT_EQ(pruner.rests(), std::ssize(read_manifest(at(30)).files)) << "after each block; the files are small";

  Pruner hurried(rule_, {}, *world_);
  for (const std::int64_t step : {10, 20}) test::write_small(at(step), step);
  prune_after(40, hurried);
  EXPECT_EQ(left(), (Steps{40, 30}));
  EXPECT_EQ(hurried.rests(), 0);
}

TEST(ReadPace, RestsForThreeQuartersOfTheTimeAndNeverLong) {
  EXPECT_EQ(ReadPace::rest_after(ReadPace::Seconds(0.25)), ReadPace::Seconds(0.75));
  EXPECT_EQ(ReadPace::rest_after(ReadPace::Seconds(100)), ReadPace::Seconds(1));
}

TEST_F(Pruning, OneThatCannotBeRemovedDoesNotKeepTheNext) {
  test::put_file(root_ / temporary_name(10));  // in the way
  Pruner pruner(rule_, {}, *world_);
  EXPECT_PRED2(test::contains, prune_after(40, pruner), "could not be removed");
  EXPECT_EQ(left(), (Steps{40, 30, 10}));
}

TEST_F(Pruning, AStartRemovesWhatIsSurplusAndKeepsWhatItGoesOnFrom) {
  Verdicts known;
  known.keep(at(40), look_at(40), true);
  known.keep(at(30), look_at(30), true);
  rule_.keep_every = 20;
  Pruner pruner(rule_, known, *world_);
  pruner.restored(40);
  pruner.finish();
  EXPECT_EQ(left(), (Steps{40, 30, 20})) << "10 alone: 20 is a multiple of keep_every";
  EXPECT_EQ(pruner.bytes_read(), 0);
}

TEST_F(Pruning, AStartFromAnOlderOneLeavesTheNewer) {
  rule_.keep_last = 1;
  Pruner pruner(rule_, {}, *world_);
  pruner.restored(30);
  pruner.finish();
  EXPECT_EQ(left(), (Steps{40, 30}));
}

TEST_F(Pruning, MakesRoomAtOnce) {
  Pruner pruner(rule_, {}, *world_);
  pruner.make_room();
  EXPECT_EQ(left(), (Steps{40, 30, 20, 10})) << "none of them is known to be whole";
  prune_after(40, pruner);
  test::write_small(at(20), 20);  // it came back
  pruner.make_room();
  EXPECT_EQ(left(), (Steps{40, 30}));
}

TEST_F(Pruning, WithoutPatienceToMakeRoomReadingGoesOn) {
  rule_.patience = std::chrono::seconds(0);
  Pruner pruner(rule_, {}, *world_);
  pruner.restored(40);
  pruner.make_room();
  while (left() != (Steps{40, 30})) pruner.poll();
}

TEST_F(Pruning, AtBoundariesWithoutWaiting) {
  rule_.keep_last = 1;
  Pruner pruner(rule_, {}, *world_);
  for (const std::int64_t step : {10, 20, 30}) pruner.committed(step, look_at(step));
  while (left() != (Steps{40, 30})) pruner.poll();  // 20 and 30 while 10 was under way
  pruner.committed(40, look_at(40));
  pruner.finish();
  EXPECT_EQ(left(), Steps{40});
  EXPECT_EQ(pruner.bytes_read(), 0);
}

}  // namespace
}  // namespace octet::checkpoint
