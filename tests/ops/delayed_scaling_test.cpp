#include "src/ops/recipes/delayed_scaling.h"

#include "tests/ops/ops_test.h"

namespace octet {
namespace {

using test::OpsTest;

class DelayedScalingTest : public OpsTest {
 protected:
  /// A step in which every cast has this abs-max.
  void step(float amax) {
    *scaling.weights().amax = amax;
    for (const CastKind kind : {CastKind::input, CastKind::gradient}) record(kind, amax);
    scaling.record(*stream_, op_.kernels, CastKind::weight, 0, 1, scaling.weights().amax);
    scaling.finish_step(*stream_, op_.kernels);
  }

  void record(CastKind kind, float amax) { scaling.record(*stream_, op_.kernels, kind, 0, 1, &amax); }

  DelayedScaling scaling{{.inputs = 1, .weights = 1, .gradients = 1}, {.history = 2}, *stream_};
};

TEST_F(DelayedScalingTest, EachKindHasItsFormat) {
  EXPECT_FALSE(scaling.known());
  step(2.0f);
  EXPECT_TRUE(scaling.known());
  EXPECT_EQ(*scaling.values(CastKind::input, 0, scratch_).scale, 224.0f);
  EXPECT_EQ(*scaling.weights().scale, 224.0f);
  EXPECT_EQ(*scaling.values(CastKind::gradient, 0, scratch_).scale, 28672.0f);
}

TEST_F(DelayedScalingTest, IsMadeByTheOptions) {
  Float8Config float8{.recipe = "delayed", .delayed_history = 2, .delayed_margin = 3};
  const auto scale_after = [&](std::initializer_list<float> amaxes) {
    const auto made = recipe_of(Precision::float8, float8)->make_scaling({.inputs = 1}, *stream_);
    for (const float amax : amaxes) {
      made->record(*stream_, op_.kernels, CastKind::input, 0, 1, &amax);
      made->finish_step(*stream_, op_.kernels);
    }
    return *made->values(CastKind::input, 0, scratch_).scale;
  };
  EXPECT_EQ(scale_after({4.0f, 2.0f}), 14.0f);  // 448 / 8 / 4
  float8.delayed_algorithm = DelayedAlgorithm::most_recent;
  EXPECT_EQ(scale_after({4.0f, 2.0f}), 28.0f);
  float8.round_scales_to_power_of_two = AutoBool::yes;
  EXPECT_EQ(scale_after({4.0f, 2.0f}), 16.0f);
  float8.delayed_margin = 0;
  EXPECT_EQ(scale_after({4.0f, 2.0f}), 128.0f);
}

/// As of two micro-batches, the second's forward before the first's backward.
TEST_F(DelayedScalingTest, SeveralUnderWayHaveTheirOwnFirstScales) {
  const ArenaScope scope(scratch_);
  const QuantScale a = scaling.values(CastKind::input, 0, scratch_), b = scaling.values(CastKind::input, 0, scratch_);
  EXPECT_NE(a.scale, b.scale);
  EXPECT_NE(a.inverse, b.inverse);
  for (const float amax : {4.0f, 2.0f}) record(CastKind::input, amax);
  EXPECT_EQ(scaling.recorded()[0], 4.0f);
}

TEST_F(DelayedScalingTest, RecordsWhatItIsToldAlone) {
  record(CastKind::gradient, 3.0f);
  EXPECT_EQ(std::vector<float>(scaling.recorded().begin(), scaling.recorded().end()), (std::vector<float>{0, 0, 3}));
}

/// An exchange that must not be used.
class Forbidden final : public Exchange {
 public:
  Forbidden() : Exchange({}) {}
  void reduce_max(float*, std::int64_t) override { ADD_FAILURE() << "an abs-max was exchanged"; }
  void gather_rows(const Tensor&, const Tensor&) override {}
  void scatter_rows(const Tensor&, const Tensor&, void*) override {}
  void start_gather(std::span<const Gather>) override {}
  void await_arrival(int) override {}
  void send_part(int, const Tensor&, void*) override {}
  void finish_scatter(const Tensor&, const Tensor&, void*) override {}
};

TEST_F(DelayedScalingTest, WhatIsLargerThanTheScaleAllowsSaturates) {
  step(1.0f);
  Forbidden exchange;
  OpContext op{*stream_, op_.kernels, scratch_, exchange};
  std::vector<float> x = {0.5f, 1.0f, 1.1f, 8.0f, -8.0f, 1e30f, 0.0f, -0.25f};
  std::vector<e4m3> codes(x.size());
  const QuantScale scale = scaling.values(CastKind::input, 0, scratch_);
  const Tensor whole{x.data(), DType::f32, {1, 8}, nullptr};
  const Tensor cast = quantize(op, whole, DType::e4m3, scale, false, codes.data());
  EXPECT_EQ(*cast.inverse_scale, 1.0f / 448.0f);
  std::vector<float> values;
  values.reserve(codes.size());
  for (const e4m3 code : codes) values.push_back(static_cast<float>(code));
  EXPECT_EQ(values, (std::vector<float>{224, 448, 448, 448, -448, 448, 0, -112}));
}

TEST_F(DelayedScalingTest, StateIsAllThereIs) {
  step(2.0f);
  step(0.5f);
  DelayedScaling other{{.inputs = 1, .weights = 1, .gradients = 1}, {.history = 2}, *stream_};
  const auto from = scaling.state(), to = other.state();
  ASSERT_EQ(from.size(), 3u);
  EXPECT_EQ(from[0].tensor.shape, (Shape{2, 3}));
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].name, to[i].name);
    std::memcpy(to[i].tensor.data, from[i].tensor.data, static_cast<std::size_t>(from[i].tensor.bytes()));
  }
  other.state_loaded(*stream_);
  EXPECT_TRUE(other.known());
  for (DelayedScaling* s : {&scaling, &other}) {
    EXPECT_EQ(*s->weights().scale, 224.0f);
    EXPECT_EQ(*s->weights().inverse, 1.0f / 224.0f);
    *s->weights().amax = 0.25f;
    for (const CastKind kind : {CastKind::input, CastKind::weight, CastKind::gradient}) {
      s->record(*stream_, op_.kernels, kind, 0, 1, s->weights().amax);
    }
    s->finish_step(*stream_, op_.kernels);
    EXPECT_EQ(*s->weights().scale, 896.0f) << "the 2 of the first step has left a history of two";
  }
  scaling.reset(*stream_);
  EXPECT_FALSE(scaling.known());
}

/// Of parameters, and only where the recipe remembers.
TEST_F(DelayedScalingTest, TakesMemoryForItsRowsOnADeviceWithoutAnyToo) {
  const Float8Config float8{.recipe = "delayed", .delayed_history = 2};
  const CastCounts casts{.inputs = 1, .weights = 1, .gradients = 1};
  const auto device = make_dry_device(DeviceType::cpu);
  const auto stream = device->make_stream();
  const auto bytes = [&](Precision precision, const Float8Config& config) {
    const auto made = recipe_of(precision, config)->make_scaling(casts, *stream);
    return device->ledger().usage(Purpose::parameters).now;
  };
  EXPECT_EQ(bytes(Precision::float8, float8), 4 * ((inverse_scale_stride + 2 + 2) * 3 + 1 + 1));
  EXPECT_EQ(bytes(Precision::bf16, float8), 0);
  EXPECT_EQ(bytes(Precision::float8, {}), 0);
}

}  // namespace
}  // namespace octet
