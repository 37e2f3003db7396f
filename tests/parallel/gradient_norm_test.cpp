#include "src/parallel/gradient_norm.h"

#include "src/parallel/gradient_layout.h"
#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

struct Norm : test::ParallelTest {
  void SetUp() override {
    use(test::example_list(DType::e4m3));
    gradients = std::make_unique<ShardedBuffer>(buffer(Purpose::gradients));
    norm = std::make_unique<GradientNorm>(list_, true, cpu_device(), *stream_);
  }
  /// Random gradients; returns their norm.
  double fill(double scale) const {
    double squares = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      const auto whole = test::random_values(spec(i).shape.elements(), static_cast<std::uint32_t>(i), scale);
      for (const float g : whole) squares += double{g} * double{g};
      put(*gradients, i, whole);
    }
    return std::sqrt(squares);
  }
  std::int64_t counted(std::size_t i) const {
    std::int32_t n = static_cast<std::int32_t>(norm->non_finite()[i]);
    world_->all_reduce(&n, 1, DType::i32, ReduceOp::sum);
    return n;
  }

  std::unique_ptr<ShardedBuffer> gradients;
  std::unique_ptr<GradientNorm> norm;
};

TEST_F(Norm, IsTheNormOfTheWholeGradient) {
  const double expected = fill(0.5);
  trace_.clear();
  norm->compute(*gradients, *world_, *self_, 1.0f);
  EXPECT_NEAR(*norm->norm(), expected, 3e-7 * expected);
  EXPECT_NEAR(*norm->factor(), 1.0 / (expected + 1e-6), 1e-6 / expected);
  EXPECT_EQ(*norm->skip(), 0u);
  EXPECT_EQ(trace_.records(), (std::vector<CommRecord>{{"all_reduce_sum", "world", ranks_, DType::f32, 1, 4, ""}}));
}

TEST_F(Norm, SmallGradientsAreNotClippedNorAnyWithoutALimit) {
  fill(1e-4);
  norm->compute(*gradients, *world_, *self_, 1.0f);
  EXPECT_EQ(*norm->factor(), 1.0f);
  fill(100);
  norm->compute(*gradients, *world_, *self_, 0.0f);
  EXPECT_EQ(*norm->factor(), 1.0f);
}

TEST_F(Norm, PaddingIsNoPartOfIt) {
  const double expected = fill(0.5);
  for (std::size_t i = 0; i < count(); ++i) {
    const Shard& s = layout_->shard(i);
    std::fill_n(gradients->data(i) + s.elements(), s.padded_elements() - s.elements(), NAN);
  }
  norm->compute(*gradients, *world_, *self_, 1.0f);
  EXPECT_NEAR(*norm->norm(), expected, 3e-7 * expected);
  for (std::size_t i = 0; i < count(); ++i) EXPECT_EQ(counted(i), 0);
}

TEST_F(Norm, NonFiniteElementsStopTheOptimizerAndAreCountedByParameter) {
  fill(0.5);
  auto tall = test::random_values(37 * 12, 2), head = test::random_values(50 * 12, 10);
  tall[0] = NAN;                   // of the first rank
  tall[36 * 12 + 11] = -INFINITY;  // of the last that has rows
  head[100] = INFINITY;
  put(*gradients, 2, tall);
  put(*gradients, 10, head);
  norm->compute(*gradients, *world_, *self_, 1.0f);
  EXPECT_FALSE(std::isfinite(*norm->norm()));
  EXPECT_EQ(*norm->skip(), 1u);  // on every rank
  for (std::size_t i = 0; i < count(); ++i) EXPECT_EQ(counted(i), i == 2 ? 2 : i == 10 ? 1 : 0) << spec(i).name;

  fill(0.5);  // one bad step stops all that follow
  norm->compute(*gradients, *world_, *self_, 1.0f);
  EXPECT_TRUE(std::isfinite(*norm->norm()));
  EXPECT_EQ(*norm->skip(), 1u);
  EXPECT_EQ(counted(2), 2);
  norm->reset_counters();
  EXPECT_EQ(counted(2), 0);
}

/// Pieces in bf16 have the norm, and the counts, of the same values in fp32, to the bit.
TEST_F(Norm, OfBf16PiecesIsThatOfTheSameValues) {
  ShardedBuffer narrow(*layout_, cpu_device(), *stream_, Purpose::gradients,
                       gradient_piece_dtypes(list_, 1, {.gemm_gradient_dtype = DType::bf16}));
  GradientNorm of_narrow(list_, true, cpu_device(), *stream_);
  fill(0.5);
  for (std::size_t i = 0; i < count(); ++i) {
    const Shard& s = layout_->shard(i);
    for (std::int64_t e = 0; e < s.elements(); ++e) {
      float& wide = gradients->data(i)[e];
      if (narrow.dtype(i) == DType::f32) {
        narrow.data(i)[e] = wide;
      } else {
        const bf16 rounded(wide);
        static_cast<bf16*>(narrow.piece(i))[e] = rounded;
        wide = static_cast<float>(rounded);
      }
    }
  }
  norm->compute(*gradients, *world_, *self_, 1.0f);
  of_narrow.compute(narrow, *world_, *self_, 1.0f);
  EXPECT_EQ(*of_narrow.norm(), *norm->norm());
  EXPECT_EQ(*of_narrow.factor(), *norm->factor());
  if (layout_->shard(2).elements() > 0) static_cast<bf16*>(narrow.piece(2))[0] = bf16(INFINITY);
  of_narrow.compute(narrow, *world_, *self_, 1.0f);
  EXPECT_EQ(*of_narrow.skip(), 1u);
  EXPECT_EQ(of_narrow.non_finite()[2], layout_->shard(2).elements() > 0 ? 1u : 0u);
}

TEST_F(Norm, OverflowOfTheSumStopsTheOptimizerToo) {
  fill(1e25);  // squares beyond fp32
  norm->compute(*gradients, *world_, *self_, 1.0f);
  EXPECT_EQ(*norm->skip(), 1u);
  EXPECT_EQ(counted(0), 0);  // no element is at fault
}

}  // namespace
}  // namespace octet
