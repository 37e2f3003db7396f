// A job that saves checkpoints is ended, or its file system refuses, at every call of its write path (a seeded sample
// of them; all with OCTET_TEST_LONG). After each the next start must find a checkpoint that is whole and no older than
// the last one that was reported as committed.
#include <gtest/gtest.h>

#include <random>

#include "tests/checkpoints/crash/replay.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/virtual_run.h"
#include "tests/support/run_command.h"

#if defined(__SANITIZE_ADDRESS__)
#define OCTET_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OCTET_SANITIZED 1
#endif
#endif

namespace octet::checkpoint {
namespace {

using test::DiskModel;
using test::TemporaryDirectory;
using test::TracedCall;
using test::Unsynced;

constexpr std::int64_t steps = 4;  // of the job, with 2 that are kept: the write path has removals too
constexpr std::size_t sample_size = 40;

bool is_long() {
  return std::getenv("OCTET_TEST_LONG") != nullptr;
}

/// A seeded sample of 1 .. n, or all of them.
std::vector<long> points(long n, std::size_t sample) {
  std::vector<long> all(static_cast<std::size_t>(n));
  for (long k = 1; k <= n; ++k) all[static_cast<std::size_t>(k - 1)] = k;
  if (is_long() || sample >= all.size()) return all;
  std::mt19937 random(20'240'817);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(sample);
  return all;
}

/// How a job ended, and what it said.
struct Ending {
  int exit_code = 0;
  bool found_one = false;
  std::int64_t found = 0;      ///< 0: none
  std::int64_t committed = 0;  ///< the last one it reported, or found
  std::string text;
};

Ending run_job(const std::string& root, std::int64_t last, const std::string& environment = "") {
  const octet::test::CommandResult result = octet::test::run_command(
      "exec env " + environment + " " + OCTET_BIN_DIR "/octet-saving-job " + root + " " + std::to_string(last) + " 2");
  Ending ending{.exit_code = result.exit_code, .text = result.all()};
  std::istringstream words(result.out);
  for (std::string what, step; words >> what >> step;) {
    if (what == "found") ending.found_one = step != "none";
    if (what == "found" && ending.found_one) ending.found = std::stoll(step);
    if (step != "none") ending.committed = std::stoll(step);
  }
  return ending;
}

class Crash : public testing::Test {
 protected:
  void SetUp() override {
#ifdef OCTET_SANITIZED
    GTEST_SKIP() << "a library before libc and the sanitizer's own exclude each other";
#endif
  }
  std::string root() const {
    return folder_ / "checkpoints";
  }
  /// The job with faults, from nothing.
  Ending run_faulty(const std::string& more) {
    std::filesystem::remove_all(root());
    return run_job(root(), steps, "LD_PRELOAD=" OCTET_FAULTS " OCTET_FAULT_ROOT=" + folder_.path() + " " + more);
  }
  long count_calls() {
    const TemporaryDirectory outside;
    const Ending ending = run_faulty("OCTET_FAULT_COUNT=" + (outside / "count"));
    EXPECT_EQ(ending.exit_code, 0) << ending.text;
    return std::atol(test::content_of(outside / "count").c_str());
  }
  /// What must hold after any end: the next start finds what it should, and goes on.
  void expect_good_restart(const Ending& before, const std::string& fault) {
    const Ending after = run_job(root(), steps + 1);
    ASSERT_EQ(after.exit_code, 0) << fault << "\n" << before.text << after.text;
    EXPECT_GE(after.found, before.committed) << fault << "\n" << before.text << after.text;
    EXPECT_LE(after.found, before.committed + 1) << fault;
    EXPECT_EQ(after.committed, steps + 1) << fault;
    EXPECT_EQ(after.text.find("DAMAGED"), std::string::npos) << fault << "\n" << after.text;
    for (const auto& entry : std::filesystem::directory_iterator(root())) {
      EXPECT_NE(entry.path().extension(), ".tmp") << fault;
    }
  }
  /// The job with this fault at each point, by `judge` and by the restart after it.
  template <typename Judge>
  void sweep(const std::string& kind, std::size_t sample, const Judge& judge) {
    for (const long k : points(count_calls(), sample)) {
      const std::string fault = kind + ":" + std::to_string(k);
      const Ending ending = run_faulty("OCTET_FAULT=" + fault);
      judge(ending, fault);
      expect_good_restart(ending, fault);
      if (HasFatalFailure()) return;
    }
  }

  TemporaryDirectory folder_;
};

TEST_F(Crash, TheWritePathHasManyCalls) {
  const long calls = count_calls();
  EXPECT_GE(calls, 200);
  EXPECT_EQ(count_calls(), calls) << "the points must be the same from run to run";
}

TEST_F(Crash, KilledBeforeACall) {
  sweep("kill", sample_size, [](const Ending& ending, const std::string& fault) {
    EXPECT_EQ(ending.exit_code, 128 + SIGKILL) << fault << "\n" << ending.text;
  });
}

TEST_F(Crash, KilledInTheMiddleOfAWrite) {
  sweep("torn", sample_size / 4, [](const Ending& ending, const std::string& fault) {
    EXPECT_EQ(ending.exit_code, 128 + SIGKILL) << fault << "\n" << ending.text;
  });
}

TEST_F(Crash, AShortWriteIsContinued) {
  sweep("short", sample_size / 4, [](const Ending& ending, const std::string& fault) {
    EXPECT_EQ(ending.exit_code, 0) << fault << "\n" << ending.text;
    EXPECT_EQ(ending.committed, steps) << fault;
  });
}

/// From some call on the file system refuses. The job ends with a message, or well if nothing that matters was refused.
class Refusal : public Crash, public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(Refusal, EndsWithAMessage) {
  const auto& [kind, reason] = GetParam();
  bool failed = false;
  sweep(kind, sample_size / 4, [&, why = reason](const Ending& ending, const std::string& fault) {
    if (ending.exit_code == 0) {
      EXPECT_EQ(ending.committed, steps) << fault << "\n" << ending.text;
      return;
    }
    failed = true;
    EXPECT_EQ(ending.exit_code, static_cast<int>(ExitCode::internal)) << fault << "\n" << ending.text;
    EXPECT_NE(ending.text.find(why), std::string::npos) << fault << "\n" << ending.text;
    EXPECT_NE(ending.text.find("rank 0: "), std::string::npos) << fault << "\n" << ending.text;
  });
  EXPECT_TRUE(failed);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Refusal,
                         testing::Values(std::pair{"enospc", "No space left on device"},
                                         std::pair{"erofs", "Read-only file system"},
                                         std::pair{"eio", "Input/output error"}),
                         [](const auto& kind) { return std::string(kind.param.first); });

/// The power fails: of what no fsync covered, any part is gone.
class PowerLoss : public Crash {
 protected:
  void record() {
    const TemporaryDirectory outside;
    const Ending ending = run_faulty("OCTET_FAULT_TRACE=" + (outside / "trace"));
    ASSERT_EQ(ending.exit_code, 0) << ending.text;
    trace_ = test::read_trace(outside / "trace");
    ASSERT_GE(trace_.size(), 200u);
  }
  /// What is wrong with the checkpoints of a disk; empty when nothing is.
  static std::string judge(const std::string& checkpoints, std::int64_t committed) {
    const auto stream = cpu_device().make_stream();
    const auto world = make_self_communicator(*stream, "world");
    try {
      const std::vector<std::string> listed = list_checkpoints(checkpoints);
      const std::optional<Found> found = find_newest_valid(checkpoints, *world, *stream);
      if (!found) return committed == 0 ? "" : "found none";
      const std::int64_t step = found->manifest.state.step;
      if (step < committed) return "found only step " + std::to_string(step);
      if (found->directory != listed.front()) return listed.front() + " is there without its content";
      return test::wrong_tensor(*found, 2).value_or("");
    } catch (const Error& error) {
      return error.what();
    }
  }
  /// The first thing that is wrong after a loss of power after `k` calls.
  std::string lose_power(const std::vector<TracedCall>& calls, std::size_t k, Unsynced unsynced, std::mt19937& random) {
    DiskModel disk(folder_.path());
    std::int64_t committed = 0;
    for (std::size_t i = 0; i < k; ++i) {
      if (calls[i].name != "mark") {
        disk.apply(calls[i]);
      } else if (calls[i].data.starts_with("committed ")) {
        committed = std::stoll(calls[i].data.substr(10));
      }
    }
    const TemporaryDirectory found;
    disk.write_out(found.path(), unsynced, random);
    const std::string wrong = judge(found / "checkpoints", committed);
    return wrong.empty() ? wrong : wrong + "; committed " + std::to_string(committed);
  }

  std::vector<TracedCall> trace_;
};

TEST_F(PowerLoss, LeavesTheLastCommittedOne) {
  ASSERT_NO_FATAL_FAILURE(record());
  std::mt19937 random(7);
  std::vector<long> all = points(static_cast<long>(trace_.size()), sample_size);
  all.push_back(static_cast<long>(trace_.size()));
  for (const long k : all) {
    for (const Unsynced unsynced :
         {Unsynced::lost, Unsynced::kept, Unsynced::names_only, Unsynced::random, Unsynced::random}) {
      ASSERT_EQ(lose_power(trace_, static_cast<std::size_t>(k), unsynced, random), "")
          << "after " << k << " of " << trace_.size() << " calls, mode " << static_cast<int>(unsynced);
    }
  }
}

TEST_F(PowerLoss, WouldShowAMissingSync) {
  ASSERT_NO_FATAL_FAILURE(record());
  std::mt19937 random(7);
  std::vector<TracedCall> without = trace_;
  std::erase_if(without, [](const TracedCall& call) { return call.name == "sync"; });
  EXPECT_NE(lose_power(without, without.size(), Unsynced::lost, random), "");
  EXPECT_NE(lose_power(without, without.size(), Unsynced::names_only, random), "");
  EXPECT_EQ(lose_power(without, without.size(), Unsynced::kept, random), "");
}

}  // namespace
}  // namespace octet::checkpoint
