#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "tests/checkpoints/directory.h"
#include "tests/support/run_command.h"

#if defined(__SANITIZE_ADDRESS__)
#define OCTET_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OCTET_SANITIZED 1
#endif
#endif

namespace octet::checkpoint::test {

inline constexpr std::int64_t steps = 7;  // of the job, with 2 that are kept: the write path has removals too
inline constexpr std::size_t sample_size = 40;

inline bool is_long() {
  return std::getenv("OCTET_TEST_LONG") != nullptr;
}

/// A seeded sample of 1 .. n, or all of them.
inline std::vector<long> points(long n, std::size_t sample) {
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
  std::int64_t found = 0;      ///< 0: none
  std::int64_t committed = 0;  ///< the last one it reported, or found
  std::string text;
};

inline Ending run_command(const std::string& command) {
  const octet::test::CommandResult result = octet::test::run_command(command, 120);
  Ending ending;
  ending.exit_code = result.exit_code;
  ending.text = result.all();
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {  // the launcher has words of its own
    std::int64_t step = 0;
    if (std::sscanf(line.c_str(), "found %ld", &step) == 1) ending.found = ending.committed = step;
    if (std::sscanf(line.c_str(), "committed %ld", &step) == 1) ending.committed = step;
  }
  return ending;
}

inline Ending run_job(const std::string& root, std::int64_t last, const std::string& environment = "") {
  return run_command("exec env " + environment + " " OCTET_BIN_DIR "/octet-saving-job " + root + " " +
                     std::to_string(last));
}

/// A folder and the job that saves into it, octet-saving-job, with and without faults.
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
  std::string with_faults(const std::string& more) const {
    return "LD_PRELOAD=" OCTET_FAULTS " OCTET_FAULT_ROOT=" + folder_.path() + " " + more;
  }
  /// The job with faults, from nothing.
  Ending run_faulty(const std::string& more) {
    std::filesystem::remove_all(root());
    return run_job(root(), steps, with_faults(more));
  }
  long count_calls() {
    const TemporaryDirectory outside;
    const Ending ending = run_faulty("OCTET_FAULT_COUNT=" + (outside / "count"));
    EXPECT_EQ(ending.exit_code, 0) << ending.text;
    return std::atol(content_of(outside / "count").c_str());
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
    const std::vector<long> all = points(count_calls(), sample);
    RecordProperty("points", static_cast<int>(all.size()));
    for (const long k : all) {
      const std::string fault = kind + ":" + std::to_string(k);
      const Ending ending = run_faulty("OCTET_FAULT=" + fault);
      judge(ending, fault);
      expect_good_restart(ending, fault);
      if (HasFatalFailure()) return;
    }
  }

  TemporaryDirectory folder_;
};

}  // namespace octet::checkpoint::test
