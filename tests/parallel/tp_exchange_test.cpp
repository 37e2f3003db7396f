// Parts of a gather and of a sum: the right numbers, and what a GPU is free to do at once.
#include "src/parallel/tp_exchange.h"

#include <cmath>

#include "tests/parallel/noted_communicator.h"
#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

struct TpParts : test::ParallelTest {
  test::Recording recording;
  test::RecordingDevice device{recording};
  std::unique_ptr<Stream> compute = device.make_stream(), other = device.make_stream();
  std::unique_ptr<Communicator> group = world_->on_stream(*compute, "tp");
  test::Noted beside{world_->on_stream(*other, "tp"), recording};
  TpExchange exchange{*group, &beside, false};
  std::int64_t rows = 2, columns = 3;

  void SetUp() override {
    if (ranks_ == 1) GTEST_SKIP() << "one rank exchanges nothing";
  }
  static Tensor view(std::vector<float>& x, std::int64_t n, std::int64_t columns) {
    return {x.data(), DType::f32, {n, columns}, nullptr};
  }
  std::vector<float> filled(std::int64_t n, float value) const {
    return std::vector<float>(static_cast<std::size_t>(n * columns), value);
  }
};

TEST_F(TpParts, WorkOnAPartBeginsWhenThatIsThereAndHoldsNoOtherUp) {
  std::vector<float> mine = filled(rows, static_cast<float>(world_->rank())), all = filled(rows * ranks_, -1);
  const Tensor whole = view(all, rows * ranks_, columns);
  const int made = recording.work(*compute, "made");
  const Exchange::Gather gather{view(mine, rows, columns), whole};
  exchange.start_gather(std::span(&gather, 1));
  const std::vector<int> received = recording.all("recv ");
  ASSERT_EQ(static_cast<int>(received.size()), ranks_ - 1);
  std::vector<int> used;
  for (int step = 0; step < ranks_; ++step) {
    exchange.await_arrival(step);
    used.push_back(recording.work(*compute, "used"));
    const int part = exchange.arriving(step);
    EXPECT_EQ(part == world_->rank(), step == 0);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      EXPECT_EQ(whole.rows(part * rows, rows).as<float>()[i], static_cast<float>(part));
    }
  }
  for (std::size_t step = 0; step < used.size(); ++step) {
    for (std::size_t r = 0; r < received.size(); ++r) {
      EXPECT_TRUE(recording.precedes(made, received[r]));
      EXPECT_EQ(recording.precedes(received[r], used[step]), r < step) << "part " << r + 1 << ", work " << step;
      EXPECT_FALSE(recording.precedes(used[step], received[r]));
    }
  }
  EXPECT_EQ(recording.count_host_waits(), 0);
}

TEST_F(TpParts, APartLeavesBesideTheWorkOnTheNextAndTheSumComesLast) {
  std::vector<float> mine = filled(rows * ranks_, 0), room = filled(rows * ranks_, 0), result = filled(rows, 0);
  const Tensor partial = view(mine, rows * ranks_, columns), output = view(result, rows, columns);
  std::vector<int> made;
  for (int step = 0; step < ranks_; ++step) {
    const Tensor part = partial.rows(exchange.leaving(step) * rows, rows);
    EXPECT_EQ(exchange.leaving(step) == world_->rank(), step == ranks_ - 1);
    for (std::int64_t i = 0; i < part.elements(); ++i) {
      part.as<float>()[i] = static_cast<float>(10 * exchange.leaving(step) + world_->rank());
    }
    made.push_back(recording.work(*compute, "made"));
    exchange.send_part(step, partial, room.data());
  }
  exchange.finish_scatter(partial, output, room.data());
  const int summed = recording.work(*compute, "summed");
  const std::vector<int> sent = recording.all("send ");
  ASSERT_EQ(static_cast<int>(sent.size()), ranks_ - 1);
  for (std::size_t s = 0; s < sent.size(); ++s) {
    EXPECT_TRUE(recording.precedes(made[s], sent[s]));
    EXPECT_FALSE(recording.precedes(sent[s], made[s + 1])) << "the next part waits for " << s;
    EXPECT_FALSE(recording.precedes(made[s + 1], sent[s]));
    EXPECT_TRUE(recording.precedes(sent[s], summed));
  }
  const auto n = static_cast<float>(ranks_);
  for (const float x : result) EXPECT_EQ(x, 10 * n * static_cast<float>(world_->rank()) + n * (n - 1) / 2);
  EXPECT_EQ(recording.count_host_waits(), 0);
}

}  // namespace
}  // namespace octet
