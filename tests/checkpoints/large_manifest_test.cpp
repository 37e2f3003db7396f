// A checkpoint of 405B on 512 ranks: 1.4 million pieces in 512 files. The main thread does nothing for each of them.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <thread>

#include "checkpoints/format/hash.h"
#include "checkpoints/restore/restore.h"
#include "checkpoints/save/commit.h"
#include "tests/checkpoints/allocations.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/virtual_run.h"

namespace {

using octet::checkpoint::test::allocations;

void* allocated(std::size_t bytes) {
  ++allocations;
  if (bytes > octet::checkpoint::test::AllocationLimit::largest()) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

}  // namespace

// In place of the library's. What looks at every piece of a manifest allocates for it: text, a JSON value, a box.
// Not inlined, else gcc takes new and free for a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* memory = allocated(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes,
                                     const std::nothrow_t&) noexcept {  // or a sanitizer's own, which delete must match
  return allocated(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace octet::checkpoint {
namespace {

constexpr int many_ranks = 512;
constexpr std::int64_t many_tensors = 2735;

/// Every rank has a row of every tensor.
std::shared_ptr<const SavePlan> large_plan() {
  auto plan = std::make_shared<SavePlan>();
  for (std::int64_t t = 0; t < many_tensors; ++t) {
    plan->tensors.push_back(
        {fmt::format("second_moment/layers.{}.feed_forward.weight", t), DType::f32, {many_ranks, 4}});
  }
  plan->copies.resize(many_ranks);
  for (std::int32_t r = 0; r < many_ranks; ++r) {
    for (std::int32_t t = 0; t < many_tensors; ++t)
      plan->copies[static_cast<std::size_t>(r)].push_back({t, {{r}, {1, 4}}});
    plan->writer.push_back(r);
  }
  return plan;
}

class LargeManifest : public testing::Test {
 protected:
  LargeManifest() {
    make_temporary(root_.path(), 7, {});
    for (int r = 0; r < many_ranks; ++r) {
      const std::string content = "the file of " + std::to_string(r);
      test::put_file(root_ / (temporary_name(7) + "/" + file_name(r)), content);
      files_.push_back({file_name(r), static_cast<std::int64_t>(content.size()), hash_of(content)});
    }
  }

  test::TemporaryDirectory root_;
  std::vector<StoredFile> files_;
};

TEST_F(LargeManifest, IsMadeWrittenAndReadBackOffTheMainThread) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) GTEST_SKIP() << "one rank does it all, and others beside it would do the same";
  const std::shared_ptr<const SavePlan> plan = large_plan();
  using Clock = std::chrono::steady_clock;
  double longest = 0;  // that one call takes, seconds
  const auto timed = [&](const auto& call) {
    const Clock::time_point start = Clock::now();
    auto result = call();
    longest = std::max(longest, std::chrono::duration<double>(Clock::now() - start).count());
    return result;
  };
  BackgroundManifest manifest_thread;
  const std::int64_t before = allocations;
  timed([&] {
    manifest_thread.start(root_.path(), test::state_at(7), plan, files_, {});
    return true;
  });
  while (!timed([&] { return manifest_thread.is_done(); })) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const WrittenManifest done = timed([&] { return manifest_thread.get(); });
  const std::int64_t of_this_thread = allocations - before;
  EXPECT_LT(of_this_thread, 10 * many_ranks) << "a few for each file, none for each piece";

  EXPECT_EQ(done.files.size(), static_cast<std::size_t>(many_ranks) + 1);
  commit(root_.path(), 7, {});
  const std::string directory = root_ / directory_name(7);
  const std::int64_t before_reading = allocations;
  const Manifest manifest = read_manifest(directory);
  EXPECT_EQ(manifest.pieces.size(), static_cast<std::size_t>(many_ranks * many_tensors));
  EXPECT_GT(allocations - before_reading, many_ranks * many_tensors) << "who does look at each piece is seen";
  std::printf("%zu pieces: the main thread stood still for %.4f s at most, the manifest took %.2f s beside it\n",
              manifest.pieces.size(), longest, done.seconds);
  if (std::getenv("OCTET_TEST_LONG") != nullptr) {
    EXPECT_LT(longest, 0.3);
  }
}

TEST_F(LargeManifest, AFailureIsThrownToTheMainThread) {
  std::filesystem::remove(root_ / (temporary_name(7) + "/" + file_name(3)));
  auto plan = std::make_shared<SavePlan>();
  plan->tensors.push_back({"a", DType::f32, {many_ranks, 4}});
  plan->copies.resize(many_ranks);
  plan->writer.resize(many_ranks);
  std::iota(plan->writer.begin(), plan->writer.end(), 0);
  for (int r = 0; r < many_ranks; ++r) plan->copies[static_cast<std::size_t>(r)].push_back({0, {{r}, {1, 4}}});
  BackgroundManifest manifest_thread;
  EXPECT_TRUE(manifest_thread.is_done()) << "none was begun";
  manifest_thread.start(root_.path(), test::state_at(7), plan, files_, {});
  try {
    manifest_thread.get();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_PRED2(test::contains, error.what(), file_name(3));
  }
  EXPECT_TRUE(list_checkpoints(root_.path()).empty());
}

}  // namespace
}  // namespace octet::checkpoint
