// The power fails while a job saves checkpoints: its recorded trace is replayed up to a call, and of what no fsync
// covered by then, any part is lost (a seeded sample of calls; all with OCTET_TEST_LONG).
#include "tests/checkpoints/crash/replay.h"
#include "tests/checkpoints/virtual_run.h"
#include "tests/crash/crash_fixture.h"

namespace octet::checkpoint {
namespace {

using test::Crash;
using test::DiskModel;
using test::Ending;
using test::TemporaryDirectory;
using test::TracedCall;
using test::Unsynced;

/// The power fails: of what no fsync covered, any part is gone.
class PowerLoss : public Crash {
 protected:
  void record() {
    const TemporaryDirectory outside;
    const Ending ending = run_faulty("OCTET_FAULT_TRACE=" + (outside / "trace"));
    ASSERT_EQ(ending.exit_code, 0) << ending.text;
    trace_ = test::read_trace(outside / "trace");
    ASSERT_GE(trace_.size(), 200u);
    ASSERT_GE(std::ranges::count(trace_, "remove", &TracedCall::name), 10) << "of checkpoints that are not kept";
  }
  /// What is wrong with the checkpoints of a disk; empty when nothing is.
  static std::string judge(const std::string& checkpoints, std::int64_t committed) {
    const auto stream = cpu_device().make_stream();
    const auto world = make_self_communicator(*stream, "world");
    try {
      const std::vector<std::string> listed = list_checkpoints(checkpoints);
      const std::optional<Found> found = find_newest_valid(checkpoints, *world);
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
  std::vector<long> all = test::points(static_cast<long>(trace_.size()), test::sample_size);
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
