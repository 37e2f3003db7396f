// Pairs of files that another process has validated.
#include <unistd.h>

#include <cstdlib>
#include <latch>
#include <sstream>
#include <thread>

#include "src/base/error.h"
#include "src/data/token_file.h"
#include "src/data/window_documents.h"
#include "tests/data/support.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

/// What fails in a run that has begun is for its next start to find out.
template <typename Call>
std::string error_of(const Call& call) {
  return test::error_of(call, ExitCode::internal);
}

class LatePairs : public testing::Test {
 protected:
  LatePairs() {
    TokenFileWriter writer(prefix_, TokenType::u16);
    for (const std::int64_t size : {5, 0, 4, 1, 7}) {
      const std::vector<std::int32_t> ids(static_cast<std::size_t>(size), static_cast<std::int32_t>(size));
      writer.append(ids);
      writer.end_document();
    }
    writer.finish();
  }

  TokenPair late() const { return {prefix_, facts_of_validated()}; }
  PairFacts facts_of_validated() const { return TokenPair(prefix_).facts(); }
  /// Writes bytes over a place of a file.
  void put(const std::string& ending, std::int64_t at, std::int64_t value) const {
    std::fstream file(prefix_ + ending, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  /// Whether this process has mapped a file of that name.
  static bool has_mapped(const std::string& path) { return times_mapped(path) > 0; }
  static int times_mapped(const std::string& path) {
    std::istringstream maps(test::read_bytes("/proc/self/maps"));
    int times = 0;
    for (std::string line; std::getline(maps, line);) times += line.ends_with(path);
    return times;
  }
  /// Takes a file away and leaves in its place one that cannot be mapped: ENODEV stands for EIO and ESTALE. Returns
  /// where the file is now.
  std::string hide(const std::string& ending) const {
    fs::rename(prefix_ + ending, prefix_ + ".hidden");
    fs::create_symlink(cannot_be_mapped, prefix_ + ending);
    return prefix_ + ".hidden";
  }
  /// Runs `work` in that many threads, which begin together.
  template <typename Work>
  static void in_threads(int threads, const Work& work) {
    std::latch all_there(threads);
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        all_there.arrive_and_wait();
        work(i);
      });
    }
  }

  static constexpr const char* cannot_be_mapped = "/sys/devices/system/cpu/possible";
  static constexpr std::int64_t documents_at = 34 + 12 * 5;  ///< in the .idx file
  TempFolder folder_;
  std::string prefix_ = folder_ / "x";
};

TEST_F(LatePairs, SayTheSameAsAValidatedOneAndOpenWhatIsReadAlone) {
  const PairFacts facts = facts_of_validated();
  const TokenPair pair(prefix_, facts);
  const auto expect_mapped = [&](bool bin, bool idx) {
    EXPECT_EQ(has_mapped(pair.bin_path()), bin);
    EXPECT_EQ(has_mapped(pair.idx_path()), idx);
  };
  EXPECT_EQ(pair.tokens(), 17);
  EXPECT_EQ(pair.documents(), 5);
  EXPECT_EQ(pair.type(), TokenType::u16);
  EXPECT_EQ(pair.fingerprint(), facts.fingerprint);
  expect_mapped(false, false);
  std::vector<std::int32_t> ids(3);
  pair.read(8, ids, 100);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{4, 1, 7}));
  expect_mapped(true, false);
  EXPECT_EQ(pair.document_begin(3), 9);
  EXPECT_EQ(pair.document_tokens(4), 7);
  expect_mapped(true, true);
}

TEST_F(LatePairs, AreOneFileTogetherAndMayBeMoved) {
  std::vector<TokenPair> pairs;
  for (int i = 0; i < 3; ++i) pairs.push_back(late());
  const TokenFile file(prefix_, std::move(pairs));
  EXPECT_EQ(file.tokens(), 51);
  std::vector<std::int32_t> ids(51);
  file.read(0, ids, 100);
  EXPECT_EQ(ids[50], 7);
  EXPECT_EQ(file.document_begin(5), 17);
}

TEST_F(LatePairs, RefuseAFileThatIsNotTheOneThatWasValidated) {
  const TokenPair gone = late(), cut = late(), other = late();
  const auto read = [](const TokenPair& pair) {
    std::vector<std::int32_t> ids(1);
    pair.read(16, ids, 100);
  };
  fs::resize_file(prefix_ + ".bin", 20);
  EXPECT_HAS(error_of([&] { read(cut); }), "x.bin: 20 bytes, where the run found 34; it is not the file");
  EXPECT_HAS(error_of([&] { read(cut); }), "x.bin: 20 bytes");  // the next read as well
  fs::resize_file(prefix_ + ".bin", 34);
  read(cut);
  fs::remove(prefix_ + ".bin");
  EXPECT_HAS(error_of([&] { read(gone); }), "cannot open " + prefix_ + ".bin");
  TokenFileWriter writer(prefix_, TokenType::u16, {.overwrite = true});
  writer.append(std::vector<std::int32_t>(17, 1));
  writer.end_document();
  writer.finish();
  read(other);  // as long as before
  EXPECT_HAS(error_of([&] { other.document_begin(1); }),
             "x.idx: 1 sequences, 1 documents of uint16, where the run found 5, 5 of uint16; it is not the file");
}

/// What another process has validated may have been another file of the same length.
TEST_F(LatePairs, ReadNothingBeyondAnIndexThatNobodyHasValidated) {
  for (const std::int64_t sequence : {std::int64_t{-1}, std::int64_t{6}, std::int64_t{1} << 60}) {
    const TokenPair pair = late();
    put(".idx", documents_at + 8 * 2, sequence);
    EXPECT_HAS(error_of([&] { pair.document_begin(2); }), "x.idx: document 2 begins at sequence");
    put(".idx", documents_at + 8 * 2, 2);
  }
  std::vector<TokenPair> pairs;
  pairs.push_back(late());
  const TokenFile file(prefix_, std::move(pairs));
  put(".idx", 34 + 4 * 5 + 8 * 1, std::int64_t{-1} << 40);  // where the second sequence begins
  std::vector<std::int32_t> begin(17);
  find_documents(file, 0, begin);
  for (std::size_t i = 0; i < begin.size(); ++i) EXPECT_TRUE(begin[i] >= 0 && begin[i] <= static_cast<int>(i)) << i;
}

TEST_F(LatePairs, AreOpenedAgainWhereTheFileSystemFailsForAMoment) {
  if (!fs::exists(cannot_be_mapped)) GTEST_SKIP() << "no sysfs";
  ASSERT_EQ(setenv("OCTET_TEST_PAUSES", "0.2", 1), 0);
  for (const std::string ending : {".bin", ".idx"}) {
    const TokenPair pair = late();
    const std::string hidden = hide(ending);
    testing::internal::CaptureStderr();
    std::jthread mends([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      fs::rename(hidden, prefix_ + ending);
    });
    std::vector<std::int32_t> ids(3);
    EXPECT_NO_THROW(pair.read(8, ids, 100));
    EXPECT_EQ(ids, (std::vector<std::int32_t>{4, 1, 7}));
    EXPECT_NO_THROW(EXPECT_EQ(pair.document_begin(3), 9));
    mends.join();
    EXPECT_HAS(testing::internal::GetCapturedStderr(), "cannot read " + prefix_ + ending);
  }
  unsetenv("OCTET_TEST_PAUSES");
}

/// A folder that is not there may be a mount that is late; a file that is missing in its folder is gone.
TEST_F(LatePairs, AreOpenedAgainWhereTheirFolderIsNotThereForAMoment) {
  ASSERT_EQ(setenv("OCTET_TEST_PAUSES", "0.2", 1), 0);
  fs::create_directory(folder_ / "mount");
  for (const char* ending : {".bin", ".idx"}) fs::rename(prefix_ + ending, folder_ / "mount/x" + ending);
  prefix_ = folder_ / "mount/x";
  const TokenPair pair = late();
  fs::rename(folder_ / "mount", folder_ / "expired");
  testing::internal::CaptureStderr();
  std::jthread mends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fs::rename(folder_ / "expired", folder_ / "mount");
  });
  std::vector<std::int32_t> ids(3);
  EXPECT_NO_THROW(pair.read(8, ids, 100));
  EXPECT_EQ(ids, (std::vector<std::int32_t>{4, 1, 7}));
  mends.join();
  EXPECT_HAS(testing::internal::GetCapturedStderr(), "cannot read " + prefix_ + ".bin: No such file");
  fs::remove(prefix_ + ".idx");
  testing::internal::CaptureStderr();
  EXPECT_HAS(error_of([&] { pair.document_begin(3); }), "cannot open " + prefix_ + ".idx: No such file");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing was tried again";
  unsetenv("OCTET_TEST_PAUSES");
}

TEST_F(LatePairs, AreAMistakeOfThePathWhereALinkLeadsToItself) {
  fs::remove(prefix_ + ".bin");
  fs::create_symlink("x.bin", prefix_ + ".bin");
  EXPECT_HAS(test::error_of([&] { TokenPair{prefix_}; }, ExitCode::usage),
             "cannot open " + prefix_ + ".bin: Too many levels");
}

TEST_F(LatePairs, AreGivenUpWhereTheFileSystemFailsOn) {
  if (!fs::exists(cannot_be_mapped)) GTEST_SKIP() << "no sysfs";
  ASSERT_EQ(setenv("OCTET_TEST_PAUSES", "0.01", 1), 0);
  const TokenPair pair = late();
  const std::string hidden = hide(".bin");
  std::vector<std::int32_t> ids(1);
  EXPECT_HAS(error_of([&] { pair.read(0, ids, 100); }), "cannot read " + prefix_ + ".bin: No such device");
  fs::rename(hidden, prefix_ + ".bin");
  EXPECT_NO_THROW(pair.read(0, ids, 100));
  unsetenv("OCTET_TEST_PAUSES");
}

TEST_F(LatePairs, AreOpenedOnceBySeveralThreads) {
  for (int round = 0; round < 20; ++round) {
    const TokenPair pair = late();
    in_threads(8, [&](int thread) {
      std::vector<std::int32_t> ids(17);
      pair.read(0, ids, 100);
      EXPECT_EQ(ids[16], 7);
      EXPECT_EQ(pair.document_begin(thread % 6),
                (std::array{0, 5, 5, 9, 10, 17}[static_cast<std::size_t>(thread % 6)]));
    });
    EXPECT_EQ(times_mapped(pair.bin_path()), 1);
    EXPECT_EQ(times_mapped(pair.idx_path()), 1);
  }
}

TEST_F(LatePairs, RefuseAWrongFileInEveryThreadAndOpenTheRightOneThen) {
  const TokenPair pair = late();
  fs::resize_file(prefix_ + ".bin", 20);
  const auto read = [&](int) {
    std::vector<std::int32_t> ids(1);
    pair.read(16, ids, 100);
    EXPECT_EQ(ids[0], 7);
  };
  in_threads(8, [&](int) { EXPECT_HAS(error_of([&] { read(0); }), "x.bin: 20 bytes, where the run found 34"); });
  fs::resize_file(prefix_ + ".bin", 34);
  put(".bin", 26, 0x0007'0007'0007'0007);
  in_threads(8, read);
  EXPECT_EQ(times_mapped(pair.bin_path()), 1);
}

TEST_F(LatePairs, MakeTheirFingerprintOnce) {
  const TokenPair pair(prefix_);
  const std::uint64_t first = pair.fingerprint();
  put(".bin", 0, 3);  // mapped, so that another look would see it
  EXPECT_EQ(pair.fingerprint(), first);
  EXPECT_EQ(pair.facts().fingerprint, first);
  EXPECT_NE(TokenPair(prefix_).fingerprint(), first);
}

TEST_F(LatePairs, TellProgressAndMayBeStoppedThere) {
  std::int64_t bytes = 0;
  const TokenPair pair(prefix_, [&](std::int64_t more) { bytes += more; });
  EXPECT_GT(bytes, 0);
  struct Stop {};
  EXPECT_THROW(TokenPair(prefix_, [](std::int64_t) { throw Stop{}; }), Stop);
}

}  // namespace
}  // namespace octet
