// A list that holds only some units of a model: its parameters have the values, scales and counters that they have in
// the whole.
#include <algorithm>

#include "src/ops/recipes/delayed_scaling.h"
#include "src/parallel/gradient_norm.h"
#include "src/parallel/weight_scales.h"
#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

/// Units 0 to 3 are embedding, two blocks of three fp8 weights each, and head.
struct PartOfModel : test::ParallelTest {
  const ParameterList whole = test::example_list(DType::e4m3);
  ShardLayout whole_layout{whole, rank_, ranks_};
  ShardedBuffer whole_master{whole_layout, cpu_device(), *stream_, Purpose::parameters};

  PartOfModel() { initialize(whole, whole_master, 42, cpu_device(), *stream_); }
  void hold(const std::vector<int>& units) {
    use(whole.part([&](int unit) { return std::ranges::find(units, unit) != units.end(); }));
  }
  std::vector<float> piece(const ShardedBuffer& of, std::size_t i) const {
    return {of.data(i), of.data(i) + of.layout().shard(i).padded_elements()};
  }
};

TEST_F(PartOfModel, NumbersAreThoseOfTheWhole) {
  for (std::size_t i = 0; i < whole.parameters.size(); ++i) EXPECT_EQ(whole.parameters[i].id, i);
  EXPECT_EQ(whole.ids, 11U);
  EXPECT_EQ(whole.casts, 6);
  hold({2, 3});
  ASSERT_EQ(count(), 6U);
  EXPECT_EQ(list_.ids, 11U);
  EXPECT_EQ(list_.casts, 6);
  EXPECT_EQ(list_.units, whole.units);
  for (std::size_t i = 0; i < count(); ++i) {
    EXPECT_EQ(spec(i).id, i + 5);
    EXPECT_EQ(spec(i).name, whole.parameters[i + 5].name);
    EXPECT_EQ(spec(i).cast, whole.parameters[i + 5].cast);
  }
  EXPECT_EQ(list_.range(2), std::pair(std::size_t{0}, std::size_t{4}));
  EXPECT_EQ(list_.range(0), std::pair(std::size_t{0}, std::size_t{0}));
}

TEST_F(PartOfModel, ShardsAndInitialValuesAreThoseOfTheSameIds) {
  for (const std::vector<int>& units : {std::vector{2, 3}, std::vector{0, 2}, std::vector{1}}) {
    hold(units);
    ShardedBuffer master = buffer();
    initialize(list_, master, 42, cpu_device(), *stream_);
    EXPECT_LT(layout_->bytes(), whole_layout.bytes());
    for (std::size_t i = 0; i < count(); ++i) {
      const Shard &mine = layout_->shard(i), &same = whole_layout.shard(spec(i).id);
      EXPECT_EQ(mine.global, same.global);
      EXPECT_EQ(mine.offset, same.offset);
      EXPECT_EQ(mine.rows, same.rows);
      EXPECT_TRUE(test::same_bits(piece(master, i), piece(whole_master, spec(i).id))) << spec(i).name;
    }
  }
}

/// With a recipe that remembers they lie in its memory, where the whole model's do.
TEST_F(PartOfModel, ScalesAreThoseOfTheSameIds) {
  for (const bool remembers : {false, true}) {
    const CastCounts casts{.inputs = 2, .weights = whole.casts, .gradients = 1};
    DelayedScaling of_whole(casts, {}, *stream_), of_part(casts, {}, *stream_);
    const auto scales = [&](const ParameterList& list, const ShardLayout& layout, const DelayedScaling& scaling) {
      return remembers ? WeightScales(list, layout, cpu_device(), *stream_, scaling)
                       : WeightScales(list, layout, cpu_device(), *stream_);
    };
    WeightScales all = scales(whole, whole_layout, of_whole);
    all.measure(whole_master, kernels_);
    all.update(*world_, kernels_);
    hold({2, 3});
    ShardedBuffer master = buffer();
    initialize(list_, master, 42, cpu_device(), *stream_);
    WeightScales some = scales(list_, *layout_, of_part);
    some.measure(master, kernels_);
    const auto reductions = trace_.records().size();
    some.update(*world_, kernels_);
    ASSERT_EQ(trace_.records().size(), reductions + 1);
    EXPECT_EQ(trace_.records().back().count, 3);  // of the block that it holds
    for (std::size_t i = 0; i < count(); ++i) {
      const std::size_t id = spec(i).id;
      ASSERT_EQ(some.scale(i) == nullptr, all.scale(id) == nullptr) << spec(i).name;
      if (some.scale(i) == nullptr) continue;
      EXPECT_EQ(*some.amax(i), *all.amax(id));
      EXPECT_EQ(*some.scale(i), *all.scale(id));
      EXPECT_EQ(*some.inverse(i), *all.inverse(id));
      if (remembers) {
        EXPECT_EQ(some.scale(i) - of_part.weights().scale, spec(i).cast);
      }
    }
  }
}

TEST_F(PartOfModel, WhatIsNotFiniteIsCountedByTheId) {
  hold({0, 2});
  const ShardedBuffer gradients = buffer(Purpose::gradients);
  const std::size_t last = count() - 1;
  ASSERT_EQ(spec(last).id, 8U);
  if (layout_->shard(last).rows > 0) gradients.data(last)[1] = NAN;
  GradientNorm norm(list_, true, cpu_device(), *stream_);
  norm.compute(gradients, *world_, *self_, 1);
  for (std::size_t id = 0; id < whole.ids; ++id) {
    EXPECT_EQ(norm.non_finite()[id], id == 8 && layout_->shard(last).rows > 0 ? 1U : 0U) << id;
  }
}

}  // namespace
}  // namespace octet
