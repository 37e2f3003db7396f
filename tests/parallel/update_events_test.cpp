// The optimizer's update beside the next forward pass: what waits for which unit's, and what need not.
#include "src/parallel/update_events.h"

#include "src/base/error.h"
#include "src/parallel/fsdp_weights.h"
#include "tests/parallel/noted_communicator.h"
#include "tests/parallel/parallel_test.h"
#include "tests/parallel/recording_device.h"

namespace octet {
namespace {

struct UpdateOrder : test::ParallelTest {
  test::Recording recording;
  test::RecordingDevice device{recording};
  std::unique_ptr<Stream> model = device.make_stream(), gathers = device.make_stream();
  UpdateEvents updates{4, *model};

  UpdateOrder() { use(test::example_list(DType::bf16)); }
  int units() const { return static_cast<int>(list_.units.size()); }

  /// All units', in their order; the numbers of their pieces of work.
  std::vector<int> update(bool beside) {
    Stream& stream = updates.begin(beside);
    std::vector<int> pieces;
    for (int unit = 0; unit < units(); ++unit) {
      pieces.push_back(recording.work(stream, "update"));
      updates.end_unit(static_cast<std::size_t>(unit));
    }
    return pieces;
  }
};

using EventsOfUpdates = UpdateOrder;

TEST_F(UpdateOrder, TheStreamBesideTheModelsComesFirst) {
  EXPECT_EQ(device.last_priority, StreamPriority::normal);
  update(true);
  EXPECT_EQ(device.last_priority, StreamPriority::high);
}

struct GathersAfterUpdates : UpdateOrder, testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Gathers, GathersAfterUpdates, testing::Bool(), [](const auto& overlap) {
  return std::string(overlap.param ? "HaveAStream" : "AreOnTheModels");
});

/// A group of one that gathers, so that it can be seen where.
TEST_P(GathersAfterUpdates, AGatherComesAfterItsUnitsAndTheModelAfterNoLaterOne) {
  test::Noted group(make_self_communicator(GetParam() ? *gathers : *model, "gathers"), recording);
  const ShardLayout layout(list_, 0, 1);
  const ShardedBuffer master(layout, cpu_device(), *stream_, Purpose::parameters);
  WeightScales scales(list_, layout, cpu_device(), *stream_);
  FsdpWeights weights(list_, master, scales, group, *self_, *model,
                      {.zero = Zero::two, .overlap = GetParam(), .one_rank_exchange = true}, &updates);
  for (int step = 0; step < 2; ++step) {
    const int norm = recording.work(*model, "norm");
    const std::vector<int> updated = update(true);
    EXPECT_TRUE(recording.precedes(norm, updated[0]));
    weights.invalidate();
    const std::vector<int> pass{0, 1, 2, 3, 3, 2, 1, 0};
    weights.begin_pass(pass);
    for (std::size_t p = 0; p < pass.size(); ++p) {
      weights.gather(pass[p]);
      const int computed = recording.work(*model, "compute");
      for (int unit = 0; unit < units(); ++unit) {
        const bool asked = unit <= pass[p] || p > 3;
        EXPECT_EQ(recording.precedes(updated[static_cast<std::size_t>(unit)], computed), asked) << unit << " at " << p;
      }
    }
    for (int unit = 0; unit < units(); ++unit) {
      const int gather = recording.all("gather " + list_.units[static_cast<std::size_t>(unit)]).back();
      for (int other = 0; other < units(); ++other) {
        EXPECT_EQ(recording.precedes(updated[static_cast<std::size_t>(other)], gather), other <= unit)
            << other << " before the gather of " << unit;
      }
    }
    updates.join();
  }
  EXPECT_EQ(recording.count_host_waits(), 0);
}

struct UpdatesThatLeaveWeights : UpdateOrder, testing::WithParamInterface<DType> {};

INSTANTIATE_TEST_SUITE_P(Linears, UpdatesThatLeaveWeights, testing::Values(DType::bf16, DType::e4m3),
                         [](const auto& linears) { return std::string(name_of(linears.param)); });

/// A lone rank's weights are written by the update itself.
TEST_P(UpdatesThatLeaveWeights, ComeBeforeTheModel) {
  use(test::example_list(GetParam()));
  const std::unique_ptr<Communicator> alone = make_self_communicator(*model, "alone");
  const ShardLayout layout(list_, 0, 1);
  const ShardedBuffer master(layout, cpu_device(), *stream_, Purpose::parameters);
  WeightScales scales(list_, layout, cpu_device(), *stream_);
  FsdpWeights weights(list_, master, scales, *alone, *self_, *model, {.zero = Zero::two}, &updates);
  const std::vector<int> pass{0, 1, 2, 3, 3, 2, 1, 0};
  for (int step = 0; step < 3; ++step) {
    int last = 0;
    std::vector<int> updated;
    if (step > 0) {
      last = recording.work(*model, "norm");
      updated = update(true);
      for (int unit = 0; unit < units(); ++unit) EXPECT_FALSE(weights.places_of_update(unit).empty());
      EXPECT_TRUE(recording.precedes(last, updated[0]));
      weights.updated();
    }
    weights.begin_pass(pass);
    for (std::size_t p = 0; p < pass.size(); ++p) {
      weights.gather(pass[p]);
      const int computed = recording.work(*model, "compute");
      for (int unit = 0; step > 0 && unit < units(); ++unit) {
        const bool asked = unit <= pass[p] || p > 3;
        EXPECT_EQ(recording.precedes(updated[static_cast<std::size_t>(unit)], computed), asked) << unit << " at " << p;
      }
      weights.release(pass[p]);
    }
    if (step > 0) updates.join();
  }
}

TEST_F(EventsOfUpdates, AreAllDoneForTheModelOnceTheyAreJoined) {
  const std::vector<int> updated = update(true);
  const int before = recording.work(*model, "before");
  EXPECT_TRUE(updates.under_way());
  EXPECT_TRUE(updates.pending(0));
  updates.join();
  const int after = recording.work(*model, "after");
  EXPECT_FALSE(updates.under_way());
  EXPECT_FALSE(updates.pending(0));
  for (const int piece : updated) {
    EXPECT_FALSE(recording.precedes(piece, before));
    EXPECT_TRUE(recording.precedes(piece, after));
  }
}

TEST_F(EventsOfUpdates, AreTheModelsWhereTheyAreNotBeside) {
  const std::vector<int> updated = update(false);
  EXPECT_FALSE(updates.under_way());
  EXPECT_TRUE(recording.precedes(updated.back(), recording.work(*model, "after")));
}

TEST_F(EventsOfUpdates, BeginWhenTheOnesBeforeAreJoined) {
  update(true);
  EXPECT_THROW(updates.begin(true), Error);
  updates.join();
  EXPECT_NO_THROW(updates.begin(true));
}

}  // namespace
}  // namespace octet
