// A rank that holds the others up is named, once, with its node; and when it no longer does, that is said.
#include "src/train/health/slow_ranks.h"

#include <thread>

#include "src/comm/trace.h"
#include "tests/equivalence/trainer_test.h"

namespace octet {
namespace {

class SlowRanksWatched : public TrainerTest {
 protected:
  /// Two collectives a step, before which the last rank, if it is `slow`, does something for long.
  void steps(std::int64_t first, std::int64_t last, bool slow) {
    float x = 1;
    for (std::int64_t step = first; step <= last; ++step) {
      for (int i = 0; i < 2; ++i) {
        if (slow && group_->rank() == group_->size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(60));
        group_->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
      }
      // What all ranks compute, so that a late wake-up of one is not half of the time.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      watch_.step(step);
    }
  }
  std::string logged(std::int64_t first, std::int64_t last, bool slow) {
    testing::internal::CaptureStderr();
    steps(first, last, slow);
    return testing::internal::GetCapturedStderr();
  }

  WaitMeter meter_;
  std::unique_ptr<Communicator> group_ = make_traced(make_mpi_communicator(*stream_, "group"), nullptr, &meter_);
  SlowRankWatch watch_{4, 2.0, &meter_, *world_, fmt::format("node-{}", world_->rank())};
};

TEST_F(SlowRanksWatched, AreNamedOnceAndCleared) {
  if (group_->size() == 1) GTEST_SKIP() << "one rank holds nobody up";
  steps(1, 1, false);  // not counted
  const std::string named = logged(2, 5, true), again = logged(6, 9, true), well = logged(10, 13, false);
  const int last = group_->size() - 1;
  const std::string message =
      fmt::format("steps 2 to 5: slower than the others: rank {} on node-{} (in coll", last, last);
  EXPECT_EQ(named.find(message) != std::string::npos, group_->rank() == 0) << named;
  EXPECT_EQ(again, "");
  EXPECT_EQ(well.find("steps 10 to 13: no rank is slower than the others any more") != std::string::npos,
            group_->rank() == 0)
      << well;
}

/// As stages of a pipeline do: each rank computes and sends to the next one, which waits for it.
TEST_F(SlowRanksWatched, AStageThatSendsLateIsNamed) {
  const int rank = group_->rank(), size = group_->size();
  if (size == 1) GTEST_SKIP() << "one rank holds nobody up";
  const auto steps = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t step = first; step <= last; ++step) {
      float got = 0, sent = 1;
      auto from = group_->start_recv(&got, 1, DType::f32, (rank + size - 1) % size);
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(120));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      auto to = group_->start_send(&sent, 1, DType::f32, (rank + 1) % size);
      from->wait(*stream_);
      to->wait(*stream_);
      group_->all_reduce(&got, 1, DType::f32, ReduceOp::sum);
      watch_.step(step);
    }
  };
  steps(1, 1);
  testing::internal::CaptureStderr();
  steps(2, 5);
  const std::string named = testing::internal::GetCapturedStderr();
  EXPECT_EQ(named.find("slower than the others: rank 0 on node-0 (") != std::string::npos, rank == 0) << named;
}

}  // namespace
}  // namespace octet
