// Times of a step that is run dry, from rates that make them easy to count.
#include "src/train/plan/dry_timeline.h"

#include <gtest/gtest.h>

#include "src/device/device.h"

namespace octet {
namespace {

constexpr MachineRates rates{.kernels = {.fp8 = 400, .bf16 = 200, .fp32 = 100, .memory = 10},
                             .ranks_on_node = 4,
                             .in_node = 50,
                             .network = 40,
                             .latency = 0.25};

class DryTimelines : public testing::Test {
 protected:
  /// Seconds of a piece of work for a rank of that mesh.
  static double seconds(const Work& work, const MeshShape& mesh = {}, int rank = 0) {
    DryTimeline timeline(rates, mesh, rank);
    const auto stream = cpu_device().make_stream();
    return timeline.add(*stream, work, {});
  }
};

TEST_F(DryTimelines, AKernelTakesItsProductsOrItsBytes) {
  EXPECT_EQ(seconds({.name = "gemm", .flops = 800, .multiplied = DType::e5m2, .bytes = 10}), 2);
  EXPECT_EQ(seconds({.name = "gemm", .flops = 800, .multiplied = DType::bf16, .bytes = 10}), 4);
  EXPECT_EQ(seconds({.name = "gemm", .flops = 800, .multiplied = DType::f32, .bytes = 10}), 8);
  EXPECT_EQ(seconds({.name = "gemm", .flops = 800, .multiplied = DType::bf16, .bytes = 50}), 5);
  EXPECT_EQ(seconds({.name = "attention_forward", .flops = 800, .multiplied = DType::bf16, .bytes = 10}), 2)
      << "half of the score matrix is computed";
  EXPECT_EQ(seconds({.name = "convert", .bytes = 30}), 3);
}

TEST_F(DryTimelines, ACollectiveTakesTheSlowestLinkOfItsRing) {
  const Work work{.name = "all_gather", .bytes = 1000, .group = "tp", .ranks = 4, .bus_bytes = 100};
  EXPECT_EQ(seconds(work, {.tp = 4}), 2.0) << "within a node";
  Work across = work;
  across.group = "dp_shard";
  EXPECT_EQ(seconds(across, {.dp_shard = 4, .tp = 4}, 5), 0.25 + 10) << "one rank of four has a quarter of the cards";
  EXPECT_EQ(seconds(across, {.dp_shard = 8, .tp = 2}, 5), 0.25 + 5) << "two ranks on a node";
  EXPECT_EQ(seconds(across, {.dp_shard = 16}, 5), 0.25 + 2.5) << "all cards are slower than the node";
  Work alone = across;
  alone.ranks = 1;
  EXPECT_EQ(seconds(alone, {.tp = 16}, 5), 0);
}

/// What two streams send between nodes at a time takes as long as one after the other; what is within the node, and
/// messages, take nothing of it.
TEST_F(DryTimelines, CollectivesOfTwoStreamsShareTheCards) {
  DryTimeline timeline(rates, {.dp_shard = 16, .tp = 4}, 0);
  const auto device = make_dry_device(DeviceType::cpu, &timeline);
  const auto model = device->make_stream(), gathers = device->make_stream(), reduces = device->make_stream();
  const auto written = device->make_event(), reduced = device->make_event();
  timeline.set_model_stream(*model);
  const auto send = [&](Stream& stream, const char* group, double bytes) {
    stream.skip({.name = "all_gather", .group = group, .ranks = 16, .bus_bytes = bytes});
  };
  model->skip({.name = "gemm", .bytes = 10});  // a second
  model->record(*written);
  reduces->wait(*written);
  send(*reduces, "dp_shard", 20);  // issued first: from 1.25 on, two seconds
  send(*gathers, "dp_shard", 25);  // from 0.25 on: a second before, one and a half behind
  send(*model, "tp", 150);         // three seconds of the node's own links
  send(*model, "pp_down", 5);      // a message
  reduces->record(*reduced);
  model->wait(*reduced);
  timeline.end_step(1);
  std::map<std::string, double> ends;
  for (const Span& s : timeline.recording().spans) ends[std::to_string(s.stream) + s.group] = s.end;
  EXPECT_EQ(ends.at("2dp_shard"), 3.25);
  EXPECT_EQ(ends.at("3dp_shard"), 4.75);
  EXPECT_EQ(ends.at("1tp"), 4);
}

TEST(LinkTimes, TakeWhatIsLeft) {
  LinkTime link;
  EXPECT_EQ(link.take(10, 5), 15);
  EXPECT_EQ(link.take(2, 3), 5) << "before";
  EXPECT_EQ(link.take(4, 2), 7) << "behind what is there";
  EXPECT_EQ(link.take(6, 5), 17) << "two parts around the first one";
  EXPECT_EQ(link.take(0, 1), 1);
  EXPECT_EQ(link.take(0, 2), 18) << "one second is left before all of them";
  EXPECT_EQ(link.take(20, 0), 20);
  link.forget(19);
  EXPECT_EQ(link.take(3, 1), 4);
}

TEST_F(DryTimelines, AMessageTakesTheLinkBetweenStages) {
  const Work work{.name = "send", .bytes = 100, .group = "pp_down", .ranks = 2, .bus_bytes = 100};
  EXPECT_EQ(seconds(work, {.pp = 2, .tp = 2}), 2.0) << "within a node";
  EXPECT_EQ(seconds(work, {.pp = 2, .tp = 4}), 0.25 + 10) << "the four ranks of a node send at a time";
}

/// It comes while it is sent, and its bytes are among those that a rank's buffers hold.
TEST_F(DryTimelines, AMessageThatIsReceivedHasASpanWithoutTime) {
  DryTimeline timeline(rates, {.pp = 2, .tp = 2}, 0);
  const auto device = make_dry_device(DeviceType::cpu, &timeline);
  const auto model = device->make_stream();
  timeline.set_model_stream(*model);
  model->skip({.name = "recv", .bytes = 100, .group = "pp_down", .ranks = 2});
  timeline.end_step(1);
  model->skip({.name = "gemm", .bytes = 100});
  timeline.end_step(2);
  const Recording r = timeline.recording();
  ASSERT_EQ(r.spans.size(), 2u);
  EXPECT_EQ(r.spans[0].bytes, 100);
  EXPECT_EQ(r.spans[0].begin, r.spans[0].end);
}

TEST_F(DryTimelines, RecordStreamsUnitsAndSteps) {
  DryTimeline timeline(rates, {.dp_shard = 4}, 0);
  const auto device = make_dry_device(DeviceType::cpu, &timeline);
  const auto model = device->make_stream(), gathers = device->make_stream();
  const auto gathered = device->make_event();
  timeline.set_model_stream(*model);
  const Work gather{.name = "all_gather", .group = "dp_shard", .ranks = 4, .bus_bytes = 100};  // two seconds
  model->skip({.name = "before", .bytes = 100});
  timeline.end_step(1);
  timeline.clear();
  for (int i = 0; i < 2; ++i) {
    const UnitScope unit("block.0");
    const StepPartScope part(StepPart::forward);
    gathers->wait(*gathered);
    gathers->skip(gather);
    gathers->record(*gathered);
    model->wait(*gathered);
    model->skip({.name = "gemm", .flops = 1200, .multiplied = DType::bf16});
    timeline.end_step(2 + i);
  }
  const Recording r = timeline.recording();
  EXPECT_EQ(r.streams, (std::vector<std::string>{"host", "model", "dp_shard all_gather"}));
  ASSERT_EQ(r.spans.size(), 4u);
  EXPECT_EQ(r.spans[0].kind, SpanKind::communication);
  EXPECT_EQ(r.spans[0].stream, 2);
  EXPECT_EQ(r.spans[0].begin, -10) << "its stream has waited for nothing: it begins before the step";
  EXPECT_EQ(r.spans[1].kind, SpanKind::gemm);
  EXPECT_EQ(r.spans[1].unit, "block.0");
  EXPECT_EQ(r.spans[1].part, StepPart::forward);
  EXPECT_EQ(r.spans[1].begin, 0);
  EXPECT_EQ(r.spans[1].end, 6);
  EXPECT_EQ(r.spans[3].begin, 6);
  ASSERT_EQ(r.steps.size(), 2u);
  EXPECT_EQ(r.steps[0].number, 2);
  EXPECT_EQ(r.steps[1].end, 12);
  EXPECT_EQ(r.wall, 12);
}

/// An update of three seconds beside a forward pass of four, which the first two seconds of the update hold up.
TEST_F(DryTimelines, AnUpdateBesideTheNextStepIsInItsTime) {
  DryTimeline timeline(rates, {}, 0);
  const auto device = make_dry_device(DeviceType::cpu, &timeline);
  const auto model = device->make_stream(), optimizer = device->make_stream();
  const auto normed = device->make_event(), updated = device->make_event();
  timeline.set_model_stream(*model);
  for (int i = 1; i <= 3; ++i) {
    model->wait(*updated);
    model->skip({.name = "forward", .bytes = 40});
    model->skip({.name = "norm", .bytes = 10});
    model->record(*normed);
    optimizer->wait(*normed);
    optimizer->skip({.name = "adamw", .bytes = 20});
    optimizer->record(*updated);
    optimizer->skip({.name = "adamw", .bytes = 10});
    timeline.end_step(i);
    if (i == 1) timeline.clear();
  }
  const Recording r = timeline.recording();
  ASSERT_EQ(r.steps.size(), 2u);
  EXPECT_EQ(r.steps[0].begin, 0);
  EXPECT_EQ(r.steps[0].end, 7);
  EXPECT_EQ(r.wall, 14);
  ASSERT_EQ(r.spans.size(), 8u) << "two steps' of the model, and two updates: the last one is of a step to come";
  EXPECT_EQ(r.spans[0].name, "adamw");
  EXPECT_EQ(r.spans[0].begin, 0);
  EXPECT_EQ(r.spans[1].begin, 2);
  EXPECT_EQ(r.spans[2].name, "forward");
  EXPECT_EQ(r.spans[2].begin, 2);
}

}  // namespace
}  // namespace octet
