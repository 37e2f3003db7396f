// Which passes are given as graphs, on the CPU, where a graph is its list done again, and on devices without memory.
#include "src/train/step/pass_graphs.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "src/base/error.h"
#include "src/device/buffer.h"
#include "src/profile/timeline.h"
#include "tests/support/idle_gpu.h"

namespace octet {
namespace {

class PassGraphsTest : public testing::Test {
 protected:
  /// y[at] += x[at].
  void pass(std::size_t at = 0) {
    kernels_.accumulate(*stream_, {.x = x_.data() + at, .y = y_.data() + at, .n = 1});
    ++passes_;
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  const KernelTable& kernels_ = watched_kernels(DeviceType::cpu);
  std::array<float, 64> x_ = [] {
    std::array<float, 64> ones{};
    ones.fill(1);
    return ones;
  }();
  std::array<float, 64> y_{};
  int passes_ = 0;
};

TEST_F(PassGraphsTest, AreMadeWhenAPassComesAgainAndEachPassIsDoneOnce) {
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  const std::vector<std::int64_t> replayed = {0, 1, 2, 3};
  for (std::size_t i = 0; i < replayed.size(); ++i) {
    graphs.run([&] { pass(); });
    EXPECT_EQ(y_[0], static_cast<float>(i + 1));
    EXPECT_EQ(graphs.replayed(), replayed[i]);
  }
  EXPECT_EQ(graphs.made(), 1);
  EXPECT_EQ(passes_, 4) << "the host's part runs every time";
}

TEST_F(PassGraphsTest, AreOfTheirAddressesAlone) {
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  for (int i = 0; i < 6; ++i) graphs.run([&] { pass(static_cast<std::size_t>(i % 2)); });
  EXPECT_EQ(y_[0], 3);
  EXPECT_EQ(y_[1], 3);
  EXPECT_EQ(graphs.made(), 2);
  EXPECT_EQ(graphs.replayed(), 4);
}

TEST_F(PassGraphsTest, AreNoneOfPassesThatCannotBeListed) {
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  for (int i = 0; i < 3; ++i) {
    graphs.run([&] {
      pass(0);
      cpu_device().copy(&y_[1], &y_[0], 4, *stream_);
      pass(2);
    });
    EXPECT_EQ(y_[1], static_cast<float>(i + 1)) << "the copy came before the work that it copies";
    EXPECT_EQ(y_[2], static_cast<float>(i + 1));
  }
  EXPECT_EQ(graphs.made(), 0);
  EXPECT_TRUE(graphs.on());
}

TEST_F(PassGraphsTest, AreGivenUpWherePassesDoNotRepeat) {
  testing::internal::CaptureStderr();
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  for (int i = 0; i < PassGraphs::most_misses; ++i) {
    EXPECT_TRUE(graphs.on());
    graphs.run([&] { pass(static_cast<std::size_t>(i)); });
    EXPECT_EQ(y_[static_cast<std::size_t>(i)], 1);
  }
  EXPECT_FALSE(graphs.on());
  graphs.run([&] { pass(0); });
  EXPECT_EQ(y_[0], 2);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuda.graphs = true: off: 16 passes in a row could not be replayed"), std::string::npos) << said;
}

/// More kinds than are kept: those that come often are, and misses that are not in a row do no harm.
TEST_F(PassGraphsTest, ForgetThePassThatCameLongestAgo) {
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  for (int i = 0; i < 40; ++i) {
    graphs.run([&] { pass(0); });
    graphs.run([&] { pass(static_cast<std::size_t>(i) + 1); });
  }
  EXPECT_TRUE(graphs.on());
  EXPECT_EQ(graphs.replayed(), 39);
  EXPECT_EQ(graphs.made(), 1);
  EXPECT_EQ(y_[0], 40);
  EXPECT_EQ(y_[40], 1);
}

/// Each kind comes twice and never again: a graph is made at every second pass, and never pays.
TEST_F(PassGraphsTest, AreGivenUpWhereTheyAreMadeAgainAndAgain) {
  testing::internal::CaptureStderr();
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  for (std::size_t kind = 0; kind < 40; ++kind) {
    for (int i = 0; i < 2; ++i) graphs.run([&] { pass(kind); });
    EXPECT_EQ(y_[kind], 2);
    EXPECT_EQ(graphs.on(), kind < PassGraphs::most_passes);
  }
  EXPECT_EQ(graphs.made(), PassGraphs::most_passes);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuda.graphs = true: off: passes are of too many kinds: 8 graphs were made for 8 replays, of "
                      "late fewer than 16 a graph"),
            std::string::npos)
      << said;
}

/// A mixture that changes, or a recipe that remembers for longer, does not end them.
TEST_F(PassGraphsTest, AreMadeAnewWhereEachPays) {
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  for (std::size_t kind = 0; kind < 40; ++kind) {
    for (int i = 0; i <= PassGraphs::replays_a_graph; ++i) graphs.run([&] { pass(kind); });
  }
  EXPECT_TRUE(graphs.on());
  EXPECT_EQ(graphs.made(), 40);
  // What they have earned ends too.
  for (std::size_t kind = 0; kind < 40; ++kind) {
    for (int i = 0; i < 2; ++i) graphs.run([&] { pass(kind); });
  }
  EXPECT_FALSE(graphs.on());
  EXPECT_EQ(graphs.made(), 40 + PassGraphs::most_passes);
}

TEST_F(PassGraphsTest, AreOffWhereTheyAreNotWantedOrForbidden) {
  const auto gpu = make_dry_device(DeviceType::cuda, DeviceType::cpu, nullptr);
  const auto on_gpu = gpu->make_stream();
  EXPECT_FALSE(PassGraphs(AutoBool::no, "", *on_gpu).on());
  EXPECT_TRUE(PassGraphs(AutoBool::automatic, "", *on_gpu).on());
  EXPECT_FALSE(PassGraphs(AutoBool::automatic, "", *stream_).on()) << "on the CPU";
  testing::internal::CaptureStderr();
  EXPECT_FALSE(PassGraphs(AutoBool::automatic, "ranks exchange", *on_gpu).on());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuda.graphs = auto: off: ranks exchange"), std::string::npos) << said;
}

/// An accumulation of n values moves 12 n bytes, which an H100 (3.35 TB/s) does in 100 us where n is 27.9 million.
TEST_F(PassGraphsTest, PayWhereLaunchesAreShort) {
  for (const std::int64_t n : {27'000'000, 29'000'000}) {
    const bool pays = n == 27'000'000;
    const auto gpu = make_dry_device(DeviceType::cuda, DeviceType::cpu, nullptr);
    const auto stream = gpu->make_stream();
    const Buffer x(*gpu, 4 * n, Purpose::data), y(*gpu, 4 * n, Purpose::data);
    PassGraphs graphs(AutoBool::automatic, "", *stream);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
      graphs.run([&] { kernels_of(*stream).accumulate(*stream, {.x = x.as<float>(), .y = y.as<float>(), .n = n}); });
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(graphs.on(), pays);
    EXPECT_EQ(graphs.replayed(), pays ? 2 : 0);
    EXPECT_NE(said.find(pays ? "auto: on: a micro-batch has 1 launches of 97 us" : "auto: off: a micro-batch has 1"),
              std::string::npos)
        << said;
  }
}

TEST_F(PassGraphsTest, AreNotOfWhatATimelineRecords) {
  Timeline timeline(*stream_);
  const KernelTable& timed = kernels_of(*stream_);
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  const auto run = [&] { graphs.run([&] { timed.accumulate(*stream_, {.x = x_.data(), .y = y_.data(), .n = 1}); }); };
  run();
  run();
  EXPECT_EQ(graphs.replayed(), 1);
  timeline.begin();
  timeline.begin_step(1);
  run();
  EXPECT_EQ(graphs.replayed(), 1);
  timeline.end_step();
  EXPECT_EQ(timeline.end().spans.size(), 1u);
  run();
  EXPECT_EQ(graphs.replayed(), 2);
  EXPECT_EQ(y_[0], 4);
}

/// A CPU, on which no graph can be made.
class NoGraphs final : public test::IdleGpu {
 public:
  class OwnStream final : public Stream {
   public:
    explicit OwnStream(Device& device) : device_(device) {}
    Device& device() const override { return device_; }
    void record(Event&) override {}
    void wait(const Event&) override {}
    void synchronize() override {}

   private:
    Device& device_;
  };

  DeviceType type() const override { return DeviceType::cpu; }
  std::unique_ptr<Stream> make_stream(StreamPriority) override { return std::make_unique<OwnStream>(*this); }
  std::unique_ptr<Graph> make_graph(Stream&, const WorkList&) override {
    throw internal_error("device", "CUDA: ending the capture of a graph: refused");
  }
};

TEST_F(PassGraphsTest, ThatCannotBeMadeLoseNoWork) {
  NoGraphs device;
  stream_ = device.make_stream(StreamPriority::normal);
  PassGraphs graphs(AutoBool::yes, "", *stream_);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i) graphs.run([&] { pass(); });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(y_[0], 4);
  EXPECT_FALSE(graphs.on());
  EXPECT_NE(said.find("cuda.graphs = true: off: [device] CUDA: ending the capture"), std::string::npos) << said;
}

}  // namespace
}  // namespace octet
