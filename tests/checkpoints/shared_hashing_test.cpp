// Who hashes which file of a checkpoint, and how many at a time.
#include "checkpoints/restore/shared_hashing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "checkpoints/format/hash.h"
#include "checkpoints/restore/on_threads.h"
#include "tests/checkpoints/read_hook.h"
#include "tests/checkpoints/virtual_ranks.h"
#include "tests/support/no_threads.h"

namespace octet::checkpoint {
namespace {

using Indices = std::vector<std::size_t>;

std::vector<StoredFile> files_of(const std::vector<std::int64_t>& sizes) {
  std::vector<StoredFile> files;
  files.reserve(sizes.size());
  for (const std::int64_t bytes : sizes) files.push_back({file_name(static_cast<int>(files.size())), bytes, ""});
  return files;
}

using ShareOf = test::OneProcess;

TEST_F(ShareOf, OfAsManyRanksAsFilesEachHasItsOwn) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{8, 7, 6, 5, 4, 3, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1}}) {
    for (int rank = 0; rank < 8; ++rank) {
      EXPECT_EQ(share_of(rank, 8, files_of(sizes)), Indices{static_cast<std::size_t>(rank)});
    }
  }
}

/// Two nodes of four ranks, two writers a node: each file stays on its node.
TEST_F(ShareOf, OfFewerWritersANodeEachFileStaysThere) {
  const std::vector<StoredFile> files = files_of({1, 4, 2, 3});
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(share_of(rank, 8, files), rank % 2 == 0 ? Indices{static_cast<std::size_t>(rank) / 2} : Indices{});
  }
}

TEST_F(ShareOf, EachFileFallsToOneRank) {
  for (const int ranks : {1, 2, 3, 7, 8}) {
    for (std::size_t n = 0; n <= 20; ++n) {
      std::vector<std::int64_t> sizes(n);
      std::iota(sizes.begin(), sizes.end(), 0);
      Indices all;
      for (int rank = 0; rank < ranks; ++rank) {
        const Indices mine = share_of(rank, ranks, files_of(sizes));
        EXPECT_LE(mine.size(), n / static_cast<std::size_t>(ranks) + 1) << n << " files, " << ranks << " ranks";
        all.insert(all.end(), mine.begin(), mine.end());
      }
      std::ranges::sort(all);
      Indices expected(n);
      std::iota(expected.begin(), expected.end(), std::size_t{0});
      EXPECT_EQ(all, expected) << n << " files, " << ranks << " ranks";
    }
  }
}

TEST_F(ShareOf, OfMoreFilesTheLargestAreDealtOutFirst) {
  const std::vector<StoredFile> files = files_of({1, 9, 2, 8, 3});
  EXPECT_EQ(share_of(0, 2, files), (Indices{1, 2, 0}));
  EXPECT_EQ(share_of(1, 2, files), (Indices{3, 4}));
}

/// Four files in a folder.
class HashShare : public test::OneProcess {
 protected:
  HashShare() {
    for (int i = 0; i < 4; ++i) {
      const std::string content(static_cast<std::size_t>(1000 + i), static_cast<char>('a' + i));
      test::put_file(folder_ / file_name(i), content);
      files_.push_back({file_name(i), std::ssize(content), hash_of(content)});
    }
  }
  Findings hash(int threads) { return hash_share(folder_.path(), files_, 0, 1, threads, progress_); }

  test::TemporaryDirectory folder_;
  std::vector<StoredFile> files_;
  files::ReadProgress progress_;
};

/// No thread reads on before all are there. One that came alone would wait for good: it gives up in the end.
TEST_F(HashShare, ReadsAsManyFilesAtATimeAsItIsTold) {
  std::mutex mutex;
  std::condition_variable all_there;
  std::set<std::thread::id> threads;
  bool met = true;
  const test::ReadHook hook([&] {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    all_there.notify_all();
    if (met) met = all_there.wait_for(lock, std::chrono::seconds(20), [&] { return threads.size() == 4; });
    return 0;
  });
  EXPECT_TRUE(hash(4).all_well());
  EXPECT_TRUE(met) << threads.size() << " threads have read";
  EXPECT_EQ(progress_.bytes(), 1000 + 1001 + 1002 + 1003);
}

TEST_F(HashShare, FindsTheSameWithAnyNumberOfThreads) {
  test::flip_bit(folder_ / file_name(1), 500);
  test::put_file(folder_ / file_name(3), "short");
  for (const int threads : {1, 2, 8}) {
    const Findings found = hash(threads);
    ASSERT_EQ(found.wrong.size(), 2u);
    EXPECT_PRED2(test::contains, found.wrong[0], file_name(3) + ": found 5 bytes, expected 1003");
    EXPECT_PRED2(test::contains, found.wrong[1], file_name(1) + ": found hash ");
  }
}

TEST_F(HashShare, AFileThatCannotBeReadEndsItForAll) {
  std::filesystem::remove(folder_ / file_name(2));
  for (const int threads : {1, 4}) EXPECT_THROW(hash(threads), files::ReadError);
  EXPECT_FALSE(progress_.stopped()) << "that is up to who waits";
}

/// Of two reads the first hangs until the failure of the second has been seen.
TEST_F(HashShare, AFailureIsToldWhileAnotherReadHangs) {
  files_.resize(2);
  const std::string paths[] = {folder_ / files_[0].name, folder_ / files_[1].name};
  std::atomic<int> reads = 0;
  std::atomic<bool> seen = false;
  const test::ReadHook hook([&] {
    if (reads++ > 0) return seen ? 0 : EIO;
    while (!seen) std::this_thread::yield();
    return 0;
  });
  std::jthread reader([&] { EXPECT_THROW(hash(2), files::ReadError); });
  while (!progress_.failure()) std::this_thread::yield();
  const bool is_first = progress_.failure()->path() == paths[0];
  EXPECT_EQ(progress_.failure()->path(), paths[is_first ? 0 : 1]);
  while (progress_.path() != paths[is_first ? 1 : 0]) std::this_thread::yield();  // the one that hangs
  seen = true;
}

TEST_F(HashShare, StopsWhenItIsTold) {
  progress_.stop();
  EXPECT_THROW(hash(4), files::ReadStopped);
}

using OnThreads = test::OneProcess;

TEST_F(OnThreads, CallsEachOnceAndTheCallerInTheEnd) {
  std::vector<std::atomic<int>> calls(100);
  int meanwhile = 0;
  on_threads(
      calls.size(), 3, [&](std::size_t i, const std::stop_token&) { ++calls[i]; }, [&] { ++meanwhile; });
  EXPECT_TRUE(std::ranges::all_of(calls, [](const std::atomic<int>& n) { return n == 1; }));
  EXPECT_GE(meanwhile, 1);
  on_threads(0, 3, [](std::size_t, const std::stop_token&) { FAIL() << "there is nothing to do"; });
}

TEST_F(OnThreads, WithoutAnyTheCallerDoesItAll) {
  const octet::test::NoThreads none;
  std::vector<std::size_t> called;
  int meanwhile = 0;
  on_threads(
      3, 2, [&](std::size_t i, const std::stop_token&) { called.push_back(i); }, [&] { ++meanwhile; });
  EXPECT_EQ(called, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(meanwhile, 1);
  on_threads(0, 2, [](std::size_t, const std::stop_token&) { FAIL(); });
}

/// The second call waits until it is asked to stop, which the failure of the first does; a third never begins.
TEST_F(OnThreads, TheFirstFailureStopsTheOthersAndComesOut) {
  std::latch both(2);
  std::atomic<int> begun = 0;
  const auto work = [&](std::size_t i, const std::stop_token& stop) {
    ++begun;
    both.arrive_and_wait();
    if (i == 0) throw usage_error("checkpoints", "the first");
    while (!stop.stop_requested()) std::this_thread::yield();
    throw usage_error("checkpoints", "of another, since it was told to stop");
  };
  EXPECT_PRED2(test::contains, test::error_of([&] { on_threads(9, 2, work); }), "the first");
  EXPECT_EQ(begun, 2);
}

TEST_F(OnThreads, WhatTheCallerThrowsStopsThem) {
  std::atomic<int> begun = 0;
  const auto work = [&](std::size_t, const std::stop_token& stop) {
    ++begun;
    while (!stop.stop_requested()) std::this_thread::yield();
  };
  const auto enough = [] { throw usage_error("checkpoints", "enough"); };
  EXPECT_PRED2(test::contains, test::error_of([&] { on_threads(9, 2, work, enough); }), "enough");
  EXPECT_LE(begun, 2) << "a third call would begin after the stop";
}

}  // namespace
}  // namespace octet::checkpoint
