#include "src/parallel/sharded_parameters.h"

#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

struct Sharded : test::ParallelTest {
  void SetUp() override { use(test::example_list(DType::e4m3)); }
};

TEST_F(Sharded, PiecesAreAlignedPaddedAlikeAndApart) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < count(); ++i) {
    const Shard& s = layout_->shard(i);
    EXPECT_EQ(layout_->offset(i) % 64, 0);  // 256 bytes
    EXPECT_GE(layout_->offset(i), end);
    EXPECT_LT(layout_->offset(i), end + 64);  // and no more room lost than that takes
    EXPECT_EQ(s.padded_rows, (spec(i).shape[0] + ranks_ - 1) / ranks_);
    EXPECT_LE(s.rows, s.padded_rows);
    end = layout_->offset(i) + s.padded_elements();
  }
  EXPECT_GE(layout_->elements(), end);
  EXPECT_LT(layout_->elements(), end + 64);
  EXPECT_EQ(layout_->bytes(), 4 * layout_->elements());
}

TEST_F(Sharded, EveryRankStoresTheSameBytesAndAllRowsExistOnce) {
  for (std::size_t i = 0; i < count(); ++i) {
    std::int64_t rows = 0;
    for (int r = 0; r < ranks_; ++r) {
      const ShardLayout other(list_, r, ranks_);
      EXPECT_EQ(other.offset(i), layout_->offset(i));
      EXPECT_EQ(other.shard(i).offset, std::min<std::int64_t>(rows, spec(i).shape[0]));
      rows += other.shard(i).rows;
    }
    EXPECT_EQ(rows, spec(i).shape[0]);
  }
}

TEST_F(Sharded, BuffersStartAtZeroAndReportTheirBytes) {
  const std::int64_t before = cpu_device().ledger().usage(Purpose::optimizer).now;
  const ShardedBuffer b = buffer(Purpose::optimizer);
  EXPECT_EQ(cpu_device().ledger().usage(Purpose::optimizer).now - before, layout_->bytes());
  EXPECT_TRUE(std::all_of(b.all(), b.all() + layout_->elements(), [](float x) { return x == 0; }));
  EXPECT_EQ(b.data(2), b.all() + layout_->offset(2));
}

TEST_F(Sharded, InitialValuesAreTheSameBitsForEveryLayout) {
  const ShardLayout whole_layout(list_, 0, 1);
  ShardedBuffer whole(whole_layout, cpu_device(), *stream_, Purpose::parameters);
  initialize(list_, whole, 42, cpu_device(), *stream_);
  ShardedBuffer mine = buffer();
  initialize(list_, mine, 42, cpu_device(), *stream_);
  for (std::size_t i = 0; i < count(); ++i) {
    const std::int64_t n = spec(i).shape.elements();
    std::vector<float> got = gather_padded(mine, i);
    EXPECT_TRUE(std::all_of(got.begin() + n, got.end(), [](float x) { return x == 0; })) << spec(i).name;
    got.resize(static_cast<std::size_t>(n));
    EXPECT_TRUE(test::same_bits(got, std::vector<float>(whole.data(i), whole.data(i) + n))) << spec(i).name;
  }
  EXPECT_EQ(non_zero_padding(mine), 0);
}

TEST_F(Sharded, InitialValuesFollowTheSpecification) {
  const ShardLayout whole_layout(list_, 0, 1);
  ShardedBuffer whole(whole_layout, cpu_device(), *stream_, Purpose::parameters),
      other = ShardedBuffer(whole_layout, cpu_device(), *stream_, Purpose::parameters);
  initialize(list_, whole, 42, cpu_device(), *stream_);
  initialize(list_, other, 43, cpu_device(), *stream_);
  for (std::size_t i = 0; i < count(); ++i) {
    const std::vector<float> w(whole.data(i), whole.data(i) + spec(i).shape.elements());
    const double std_dev = spec(i).init_std;
    if (std_dev == 0) {
      EXPECT_EQ(w, std::vector<float>(w.size(), 1.0f)) << spec(i).name;
      continue;
    }
    // Element e is a function of (seed, index of the parameter, e).
    const auto at = [&](std::uint64_t e) {
      return static_cast<float>(
          std_dev *
          random_normal({42, RandomPurpose::initial_weights, static_cast<std::uint32_t>(i)}, e, spec(i).init_cutoff));
    };
    EXPECT_EQ(w[0], at(0));
    EXPECT_EQ(w.back(), at(w.size() - 1));
    EXPECT_NE(w[0], other.data(i)[0]) << spec(i).name;
    double squares = 0;
    for (const float x : w) squares += double{x} * double{x};
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(w.size())), std_dev, 0.3 * std_dev) << spec(i).name;
  }
  EXPECT_NE(std::vector<float>(whole.data(2), whole.data(2) + 20),
            std::vector<float>(whole.data(6), whole.data(6) + 20));
}

}  // namespace
}  // namespace octet
