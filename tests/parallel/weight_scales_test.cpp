#include "src/parallel/weight_scales.h"

#include <algorithm>

#include "src/optim/adamw.h"
#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

struct Scales : test::ParallelTest {
  void SetUp() override {
    use(test::example_list(DType::e4m3));
    master = std::make_unique<ShardedBuffer>(buffer());
    scales = std::make_unique<WeightScales>(list_, *layout_, cpu_device(), *stream_);
  }
  bool is_fp8(std::size_t i) const { return spec(i).gathered == DType::e4m3; }
  void fill(std::uint32_t version, double scale) const {
    for (std::size_t i = 0; i < count(); ++i) {
      put(*master, i,
          test::random_values(spec(i).shape.elements(), 50 * version + static_cast<std::uint32_t>(i), scale));
    }
  }
  std::vector<float> all(const WeightScales& of) const {
    std::vector<float> values;
    for (std::size_t i = 0; i < count(); ++i) {
      if (is_fp8(i)) values.insert(values.end(), {*of.amax(i), *of.scale(i), *of.inverse(i)});
    }
    return values;
  }
  std::vector<float> fresh() const {
    WeightScales other(list_, *layout_, cpu_device(), *stream_);
    other.measure(*master, kernels_);
    other.update(*world_, kernels_);
    return all(other);
  }

  std::unique_ptr<ShardedBuffer> master;
  std::unique_ptr<WeightScales> scales;
};

TEST_F(Scales, AreThoseOfTheWholeWeight) {
  fill(1, 0.3);
  // Padding enters no abs-max, whatever it holds.
  for (std::size_t i = 0; i < count(); ++i) {
    const Shard& s = layout_->shard(i);
    std::fill_n(master->data(i) + s.elements(), s.padded_elements() - s.elements(), 1e9f);
  }
  scales->measure(*master, kernels_);
  scales->update(*world_, kernels_);
  for (std::size_t i = 0; i < count(); ++i) {
    if (!is_fp8(i)) {
      EXPECT_EQ(scales->amax(i), nullptr);
      EXPECT_EQ(scales->inverse(i), nullptr);
      continue;
    }
    float amax = 0;
    for (const float w : test::random_values(spec(i).shape.elements(), 50 + static_cast<std::uint32_t>(i), 0.3)) {
      amax = std::max(amax, std::abs(w));
    }
    const auto scale = static_cast<float>(448.0 / double{amax});
    EXPECT_EQ(*scales->amax(i), amax) << spec(i).name;
    EXPECT_EQ(*scales->scale(i), scale) << spec(i).name;
    EXPECT_EQ(*scales->inverse(i), 1.0f / scale) << spec(i).name;
  }
}

/// With three ranks and more, the parameter of two rows leaves ranks without one: what they hold is an old maximum,
/// which must not survive a step in which the weights shrink to a tenth.
TEST_F(Scales, FollowWeightsThatShrink) {
  fill(1, 10.0);
  scales->measure(*master, kernels_);
  scales->update(*world_, kernels_);
  const ShardedBuffer zero = buffer();
  scales->clear();
  const float clip = 1;
  const std::uint32_t go = 0;
  for (std::size_t i = 0; i < count(); ++i) {
    const OptimizerSlice slice{.parameter = master->data(i),
                               .gradient = zero.data(i),
                               .first_moment = zero.data(i),
                               .second_moment = zero.data(i),
                               .n = layout_->shard(i).elements(),
                               .decay = true,
                               .amax = layout_->shard(i).rows == 0 ? nullptr : scales->amax(i)};
    adamw_step(*stream_, kernels_, {.lr = 0, .weight_decay = 0.9, .no_decay = {}}, 1.0, 1, {&slice, 1}, &clip, &go);
  }
  scales->update(*world_, kernels_);
  EXPECT_TRUE(test::same_bits(all(*scales), fresh()));
  for (std::size_t i = 0; i < count(); ++i) {
    if (!is_fp8(i)) continue;
    EXPECT_LT(*scales->amax(i), 4.0f) << spec(i).name;
  }
}

TEST_F(Scales, AfterAdamWEqualAFreshMeasurement) {
  fill(1, 0.3);
  scales->measure(*master, kernels_);
  scales->update(*world_, kernels_);
  ShardedBuffer gradients = buffer(Purpose::gradients), m = buffer(Purpose::optimizer), v = buffer(Purpose::optimizer);
  std::vector<OptimizerSlice> slices;
  for (std::size_t i = 0; i < count(); ++i) {
    put(gradients, i, test::random_values(spec(i).shape.elements(), 200 + static_cast<std::uint32_t>(i)));
    slices.push_back({.parameter = master->data(i),
                      .gradient = gradients.data(i),
                      .first_moment = m.data(i),
                      .second_moment = v.data(i),
                      .n = layout_->shard(i).elements(),
                      .decay = true,
                      .amax = scales->amax(i)});
  }
  const std::vector<float> before = all(*scales);
  const float clip = 1;
  std::uint32_t skip = 0;
  for (std::int64_t step = 1; step <= 3; ++step) {
    scales->clear();
    adamw_step(*stream_, kernels_, {.lr = 0, .weight_decay = 0.9, .no_decay = {}}, 0.1, step, slices, &clip, &skip);
    scales->update(*world_, kernels_);
    EXPECT_TRUE(test::same_bits(all(*scales), fresh())) << "step " << step;
  }
  EXPECT_NE(all(*scales), before);

  skip = 1;  // a step that writes nothing leaves the scales as they are
  const std::vector<float> kept = all(*scales);
  adamw_step(*stream_, kernels_, {.lr = 0, .no_decay = {}}, 0.1, 4, slices, &clip, &skip);
  scales->update(*world_, kernels_);
  EXPECT_TRUE(test::same_bits(all(*scales), kept));
  EXPECT_EQ(non_zero_padding(*master), 0);
}

/// Ranks of a tensor-parallel group have a part of the weight each, whose scale is one.
TEST_F(Scales, OfAGatheredWeightAreThoseOfAllItsParts) {
  std::size_t i = 0;
  while (!is_fp8(i)) ++i;
  for (const double spread : {4.0, 0.5}) {  // what was measured before is forgotten
    const auto part_of = [&](int rank) {
      return test::random_values(spec(i).shape.elements(), static_cast<std::uint32_t>(7 + rank), spread);
    };
    float amax = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      for (const float w : part_of(rank)) amax = std::max(amax, std::abs(w));
    }
    std::vector<float> part = part_of(rank_);
    scales->measure_gathered(i, {part.data(), DType::f32, spec(i).shape, nullptr}, *world_, kernels_);
    EXPECT_EQ(*scales->amax(i), amax);
    EXPECT_EQ(*scales->scale(i), static_cast<float>(448.0 / double{amax}));
    EXPECT_EQ(*scales->inverse(i), 1.0f / *scales->scale(i));
  }
}

/// Of one rank, which has every weight whole.
TEST_F(Scales, UnitByUnitAreThoseOfAll) {
  const ShardLayout layout(list_, 0, 1);
  const ShardedBuffer whole(layout, cpu_device(), *stream_, Purpose::parameters);
  for (std::size_t i = 0; i < count(); ++i) {
    const auto values = test::random_values(spec(i).shape.elements(), 90 + static_cast<std::uint32_t>(i));
    std::ranges::copy(values, whole.data(i));
  }
  WeightScales at_once(list_, layout, cpu_device(), *stream_), by_unit(list_, layout, cpu_device(), *stream_);
  at_once.measure(whole, kernels_);
  at_once.update(*self_, kernels_);
  by_unit.measure(whole, kernels_);
  for (int unit = static_cast<int>(list_.units.size()) - 1; unit >= 0; --unit) {
    const auto [begin, end] = list_.range(unit);
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_fp8(i)) continue;
      EXPECT_EQ(*by_unit.scale(i), 0) << "before its unit's turn";
    }
    by_unit.update_whole(begin, end, *stream_, kernels_);
  }
  EXPECT_TRUE(test::same_bits(all(by_unit), all(at_once)));
  EXPECT_FALSE(at_once.exchanges(*self_));
  EXPECT_EQ(scales->exchanges(*world_), ranks_ > 1);
}

TEST_F(Scales, NothingIsSentWithoutFp8Weights) {
  use(test::example_list(DType::bf16));
  WeightScales none(list_, *layout_, cpu_device(), *stream_);
  trace_.clear();
  none.update(*world_, kernels_);
  EXPECT_TRUE(trace_.records().empty());
  EXPECT_FALSE(none.exchanges(*world_));
}

}  // namespace
}  // namespace octet
