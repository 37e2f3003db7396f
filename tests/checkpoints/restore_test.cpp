#include "checkpoints/restore/restore.h"
#include "checkpoints/restore/shared_hashing.h"

#include <gtest/gtest.h>

#include "checkpoints/format/hash.h"
#include "tests/checkpoints/saver_fixture.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::contains;

TEST(ListCheckpoints, NewestFirstAndNothingElse) {
  const test::TemporaryDirectory root;
  EXPECT_TRUE(list_checkpoints(root / "none").empty());
  for (const std::int64_t step : {9, 1'000'000, 100}) fs::create_directory(root / directory_name(step));
  fs::create_directory(root / temporary_name(200));
  test::put_file(root / directory_name(300));
  EXPECT_EQ(list_checkpoints(root.path()),
            (std::vector<std::string>{root / "step-1000000", root / "step-000100", root / "step-000009"}));
  EXPECT_THROW(list_checkpoints(root / directory_name(300)), Error) << "a file";
}

/// It may be the newest: an older one must not be taken in its place without a word.
TEST(ListCheckpoints, OneThatCannotBeLookedAtIsNotPassedOver) {
  const test::TemporaryDirectory root;
  fs::create_directory(root / directory_name(1));
  fs::create_symlink(directory_name(2), root / directory_name(2));  // to itself
  EXPECT_THROW(list_checkpoints(root.path()), files::ReadError);
  fs::remove(root / directory_name(2));
  EXPECT_EQ(list_checkpoints(root.path()).size(), 1u);
}

class Restore : public test::SaverTest {
 protected:
  Restore() {
    Saver saver = make_saver();
    for (const std::int64_t step : {1, 2, 3}) save(saver, step);
  }
  /// find(), and what rank 0 printed.
  std::optional<Found> find_aloud(std::string& said) {
    if (rank() == 0) testing::internal::CaptureStderr();
    std::optional<Found> found = find();
    if (rank() == 0) said = testing::internal::GetCapturedStderr();
    return found;
  }
  /// Checks that step 3 is refused with these words and step 2 is taken.
  void expect_fall_back(const std::string& words) {
    std::string said;
    const std::optional<Found> found = find_aloud(said);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->directory, path_of(2));
    EXPECT_EQ(test::wrong_tensor(*found, 2), std::nullopt);
    if (rank() == 0) {
      EXPECT_PRED2(contains, said, "checkpoint " + path_of(3) + " is DAMAGED");
      EXPECT_PRED2(contains, said, words);
    }
  }
};

TEST_F(Restore, TakesTheNewestAndSaysNothing) {
  std::string said;
  const std::optional<Found> found = find_aloud(said);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->directory, path_of(3));
  EXPECT_EQ(said, "");
}

TEST_F(Restore, AllRanksHaveTheManifestThatIsThere) {
  std::string said;
  const std::optional<Found> found = find_aloud(said);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->manifest, read_manifest(path_of(3)));
}

TEST_F(Restore, OfManyDamagedFilesTheFirstThreeAreNamed) {
  Findings mine;
  for (int i = 0; i < 100; ++i) mine.add(fmt::format("{}/{}: found 1 bytes, expected 2", rank(), i));
  const Findings all = of_all_ranks(mine, *world_);
  EXPECT_FALSE(all.all_well());
  EXPECT_EQ(all.text(), fmt::format("0/0: found 1 bytes, expected 2; 0/1: found 1 bytes, expected 2; 0/2: found 1 "
                                    "bytes, expected 2; and {} more files",
                                    100 * size() - 3));
  EXPECT_TRUE(of_all_ranks(Findings{}, *world_).all_well());
}

TEST_F(Restore, NothingThereIsNoError) {
  root_ += "/none";
  EXPECT_EQ(find(), std::nullopt);
}

TEST_F(Restore, ABitFlippedInAnyFile) {
  const std::string file = path_of(3) + "/" + file_name(size() - 1);
  for (const std::int64_t byte : {std::int64_t{0}, static_cast<std::int64_t>(fs::file_size(file)) - 1}) {
    on_rank_0([&] { test::flip_bit(file, byte, 5); });
    expect_fall_back(file + ": found hash ");
    on_rank_0([&] { test::flip_bit(file, byte, 5); });
  }
}

TEST_F(Restore, AFileCutShort) {
  const std::string file = path_of(3) + "/" + file_name(0);
  const auto bytes = fs::file_size(file);
  world_->barrier();
  on_rank_0([&] { fs::resize_file(file, bytes - 1); });
  expect_fall_back(fmt::format("{}: found {} bytes, expected {}", file, bytes - 1, bytes));
}

TEST_F(Restore, AMissingFile) {
  const std::string file = path_of(3) + "/" + file_name(size() - 1);
  on_rank_0([&] { fs::remove(file); });
  expect_fall_back(file + ": No such file");
}

TEST_F(Restore, AMissingManifest) {
  on_rank_0([&] { fs::remove(path_of(3) + "/" + manifest_name); });
  expect_fall_back(manifest_name);
}

TEST_F(Restore, AChangedManifest) {
  on_rank_0([&] { test::flip_bit(path_of(3) + "/" + manifest_name, 40, 1); });
  expect_fall_back(manifest_name);
}

/// It is no damage, and nobody may go on from an older one without a word.
TEST_F(Restore, AManifestOfANewerVersionIsRefusedByAll) {
  const std::string path = path_of(3) + "/" + manifest_name;
  on_rank_0([&] {
    std::string text = test::content_of(path);
    const std::string known = R"("version": 1)";
    text.replace(text.find(known), known.size(), R"("version": 3)");
    text.erase(text.rfind("\"xxh3_128\""));
    test::put_file(path, text + manifest_last_line(hash_of(text)));
  });
  EXPECT_PRED2(contains, common_error([&] { find(); }), path + ": of version 3, which this program does not know");
  EXPECT_PRED2(contains, common_error([&] { find_checkpoint(path_of(3), *world_); }), "of version 3");
  EXPECT_EQ(steps(), (test::Steps{3, 2, 1}));
}

TEST_F(Restore, ACheckpointUnderAnotherStepsName) {
  on_rank_0([&] {
    fs::remove_all(path_of(3));
    fs::copy(path_of(1), path_of(3), fs::copy_options::recursive);
  });
  expect_fall_back("its manifest is of step 1");
}

TEST_F(Restore, AnEmptyDirectory) {
  on_rank_0([&] {
    fs::remove_all(path_of(3));
    fs::create_directory(path_of(3));
  });
  expect_fall_back(manifest_name);
}

TEST_F(Restore, AllDamagedIsAnErrorThatNamesEach) {
  on_rank_0([&] {
    for (const int step : {1, 2, 3}) test::flip_bit(path_of(step) + "/" + file_name(0), 1000);
  });
  const std::string error = common_error([&] { find(); });
  EXPECT_PRED2(contains, error, root_ + ": found 3 checkpoint(s), none of them valid");
  for (const int step : {1, 2, 3}) EXPECT_PRED2(contains, error, path_of(step) + "/" + file_name(0));
}

TEST_F(Restore, Rank0SaysWhatAPathMeans) {
  // Every rank has its own view of one path; those of the others still lack the manifest.
  const fs::path view = fs::path(root_).parent_path() / fmt::format("view-{}", rank()), before = fs::current_path();
  fs::create_directories(view / "here");
  for (const fs::directory_entry& file : fs::directory_iterator(path_of(3))) {
    const fs::path name = file.path().filename();
    if (rank() == 0 || name != manifest_name) fs::create_symlink(file.path(), view / "here" / name);
  }
  fs::current_path(view);
  const std::optional<Found> found = find_checkpoint("here", *world_);
  fs::current_path(before);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->directory, "here");
  EXPECT_EQ(found->manifest.state.step, 3);
}

TEST_F(Restore, VerifyNamesTheFirstDamagedFiles) {
  on_rank_0([&] {
    for (int r = 0; r < size(); ++r) test::flip_bit(path_of(3) + "/" + file_name(r), 8);
  });
  Manifest manifest;
  const std::optional<std::string> wrong = verify(path_of(3), manifest, *world_);
  ASSERT_TRUE(wrong.has_value());
  int named = 0;
  for (int r = 0; r < size(); ++r) named += contains(*wrong, file_name(r)) ? 1 : 0;
  EXPECT_EQ(named, std::min(size(), 3)) << *wrong;
  EXPECT_EQ(contains(*wrong, fmt::format("and {} more file", size() - 3)), size() > 3) << *wrong;
  EXPECT_EQ(verify(path_of(2), manifest, *world_), std::nullopt);
}

}  // namespace
}  // namespace octet::checkpoint
