#include "src/parallel/fsdp_gradients.h"

#include <utility>

#include "src/base/error.h"
#include "src/comm/mesh.h"
#include "tests/parallel/parallel_test.h"
#include "tests/support/global_element.h"

namespace octet {
namespace {

/// Integers, so that every sum is exact: element e of parameter i from rank r in micro-batch b.
float value(int rank, int micro_batch, std::size_t i, std::size_t e) {
  return static_cast<float>(static_cast<int>((e * 7 + i * 31) % 101) - 50 + rank * 3 + micro_batch * 1000);
}

struct Gradients : test::ParallelTest {
  void SetUp() override { use(test::example_list(DType::e4m3)); }

  /// Writes one micro-batch as a GEMM would: over what is there, or added to it.
  void write(FsdpGradients& sink, int unit, int rank, int micro_batch) const {
    const auto targets = sink.open(unit);
    const auto [first, last] = list_.range(unit);
    ASSERT_EQ(targets.size(), last - first);
    for (std::size_t i = first; i < last; ++i) {
      const GradientTarget& t = targets[i - first];
      EXPECT_EQ(t.tensor.shape, spec(i).shape);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.tensor.data) % 256, 0u) << "a GEMM writes there: " << spec(i).name;
      float* g = t.tensor.as<float>();
      for (std::size_t e = 0; e < static_cast<std::size_t>(t.tensor.elements()); ++e) {
        g[e] = (t.accumulate ? g[e] : 0.0f) + value(rank, micro_batch, i, e);
      }
    }
  }
  void micro_batch(FsdpGradients& sink, int rank, int b) const {
    for (const int unit : {3, 2, 1, 0}) {
      write(sink, unit, rank, b);
      sink.close(unit);
    }
  }
  /// Pieces against the sum over ranks and micro-batches, and zero padding.
  void expect_sums(const ShardedBuffer& shards, int ranks, const std::vector<int>& micro_batches) const {
    for (std::size_t i = 0; i < count(); ++i) {
      const Shard& s = shards.layout().shard(i);
      std::vector<float> expected(static_cast<std::size_t>(s.elements()), 0.0f);
      for (std::size_t e = 0; e < expected.size(); ++e) {
        for (int r = 0; r < ranks; ++r) {
          for (const int b : micro_batches) {
            expected[e] += value(r, b, i, e + static_cast<std::size_t>(test::global_element(s, 0)));
          }
        }
      }
      EXPECT_EQ(std::vector<float>(shards.data(i), shards.data(i) + s.elements()), expected) << spec(i).name;
      for (std::int64_t e = s.elements(); e < s.padded_elements(); ++e) EXPECT_EQ(shards.data(i)[e], 0) << spec(i).name;
    }
  }
};

TEST_F(Gradients, AreSummedOverRanksAndMicroBatches) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  for (const Zero zero : {Zero::one, Zero::two, Zero::three}) {
    FsdpGradients sink(list_, shards, *world_, *self_, *self_, *stream_, {.zero = zero});
    for (int step = 0; step < 2; ++step) {  // a new step forgets the old
      sink.begin_step(3);
      for (const int b : {1, 2, 3}) micro_batch(sink, rank_, 10 * step + b);
      sink.finish_step();
      expect_sums(shards, ranks_, {10 * step + 1, 10 * step + 2, 10 * step + 3});
    }
    EXPECT_EQ(non_zero_padding(shards), 0);
  }
}

/// A pipeline closes units of several micro-batches in its own order.
TEST_F(Gradients, UnitsThatAreWholeAreReducedWhenEachIsComplete) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  FsdpGradients sink(list_, shards, *world_, *self_, *self_, *stream_, {.zero = Zero::one});
  sink.begin_step(2);
  trace_.clear();
  for (const auto& [unit, b] : {std::pair{3, 1}, {3, 2}, {2, 1}, {1, 1}, {2, 2}, {0, 1}, {1, 2}}) {
    write(sink, unit, rank_, b);
    sink.close(unit);
  }
  EXPECT_EQ(trace_.calls("reduce_scatter"), ranks_ > 1 ? 10 : 0);  // all but the embedding's
  if (ranks_ > 1) {
    EXPECT_THROW(sink.finish_step(), Error) << "the embedding waits for its second micro-batch";
  }
  write(sink, 0, rank_, 2);
  sink.close(0);
  sink.finish_step();
  expect_sums(shards, ranks_, {1, 2});
  sink.open(0);
  EXPECT_THROW(sink.close(0), Error) << "a third time";
}

/// In bf16 the sum of the micro-batches before the last is rounded after each.
TEST_F(Gradients, WholeInBf16AreRoundedAfterEachMicroBatchButTheLast) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank sums in its fp32 pieces";
  ShardedBuffer shards = buffer(Purpose::gradients);
  FsdpGradients sink(list_, shards, *world_, *self_, *self_, *stream_,
                     {.zero = Zero::one, .whole_gradients = DType::bf16});
  int rounded = 0;
  for (int step = 0; step < 2; ++step) {
    sink.begin_step(3);
    for (const int b : {1, 2, 3}) micro_batch(sink, rank_, b + step);
    sink.finish_step();
    for (std::size_t i = 0; i < count(); ++i) {
      const Shard& s = shards.layout().shard(i);
      for (std::size_t e = 0; e < static_cast<std::size_t>(s.elements()); ++e) {
        const std::size_t at = e + static_cast<std::size_t>(test::global_element(s, 0));
        float expected = 0, exact = 0;
        for (int r = 0; r < ranks_; ++r) {
          const auto first = static_cast<bf16>(value(r, 1 + step, i, at));
          const auto sum = static_cast<bf16>(static_cast<float>(first) + value(r, 2 + step, i, at));
          expected += value(r, 3 + step, i, at) + static_cast<float>(sum);
          for (const int b : {1, 2, 3}) exact += value(r, b + step, i, at);
        }
        ASSERT_EQ(shards.data(i)[e], expected) << spec(i).name;
        rounded += expected != exact ? 1 : 0;
      }
    }
  }
  EXPECT_GT(rounded, 0);
  EXPECT_EQ(non_zero_padding(shards), 0);
}

TEST_F(Gradients, TravelOnceAStepWhereTheyAreWhole) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank sends nothing";
  std::int64_t padded = 0;
  for (std::size_t i = 0; i < count(); ++i) padded += layout_->shard(i).padded_elements() * ranks_;
  for (const DType whole : {DType::f32, DType::bf16}) {
    ShardedBuffer shards = buffer(Purpose::gradients);
    FsdpGradients sink(list_, shards, *world_, *self_, *self_, *stream_, {.zero = Zero::one, .whole_gradients = whole});
    sink.begin_step(3);
    trace_.clear();
    for (const int b : {1, 2, 3}) micro_batch(sink, rank_, b);
    sink.finish_step();
    EXPECT_EQ(trace_.calls("reduce_scatter"), 11);
    EXPECT_EQ(trace_.bytes("reduce_scatter"), 4 * padded);
  }
}

TEST_F(Gradients, AReopenedUnitAccumulatesAndIsReducedOnce) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  FsdpGradients sink(list_, shards, *world_, *self_, *self_, *stream_);
  sink.begin_step(1);
  EXPECT_FALSE(sink.open(0)[0].accumulate);
  write(sink, 0, rank_, 1);  // opened again: its target says accumulate
  EXPECT_TRUE(sink.open(0)[0].accumulate);
  for (float* g = sink.open(0)[0].tensor.as<float>(); g != nullptr; g = nullptr) std::fill_n(g, 50 * 12, 0.0f);
  write(sink, 0, rank_, 1);
  write(sink, 0, rank_, 2);
  trace_.clear();
  sink.close(0);
  EXPECT_EQ(trace_.calls("reduce_scatter"), ranks_ > 1 ? 1 : 0);
  const Shard& s = layout_->shard(0);
  for (std::size_t e = 0; e < static_cast<std::size_t>(s.elements()); ++e) {
    float expected = 0;
    const std::size_t global = e + static_cast<std::size_t>(test::global_element(s, 0));
    for (int r = 0; r < ranks_; ++r) expected += value(r, 1, 0, global) + value(r, 2, 0, global);
    ASSERT_EQ(shards.data(0)[e], expected);
  }
}

TEST_F(Gradients, TravelInFp32OnceAMicroBatch) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  FsdpGradients sink(list_, shards, *world_, *self_, *self_, *stream_);
  sink.begin_step(2);
  trace_.clear();
  micro_batch(sink, rank_, 1);
  micro_batch(sink, rank_, 2);
  sink.finish_step();
  if (ranks_ == 1) {
    EXPECT_TRUE(trace_.records().empty());
    return;
  }
  std::int64_t padded = 0;
  for (std::size_t i = 0; i < count(); ++i) padded += layout_->shard(i).padded_elements() * ranks_;
  EXPECT_EQ(trace_.calls("reduce_scatter"), 2 * 11);
  EXPECT_EQ(trace_.bytes("reduce_scatter"), 2 * 4 * padded);
  EXPECT_EQ(trace_.records().size(), 2u * 11);
  EXPECT_EQ(trace_.records().front().unit, "head");
  EXPECT_EQ(trace_.records().back().unit, "embedding");
}

/// Garbage in a recycled buffer's padding must not reach the shards' padding.
TEST_F(Gradients, PaddingIsZeroedInRecycledBuffers) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  FsdpGradients sink(list_, shards, *world_, *self_, *self_, *stream_);
  const std::int64_t place = (layout_->shard(0).padded_elements() * ranks_ + 63) / 64 * 64;  // on 256 bytes
  sink.begin_step(1);
  float* whole = sink.open(0)[0].tensor.as<float>();
  std::fill_n(whole, ranks_ > 1 ? place : 50 * 12, NAN);
  sink.close(0);
  sink.begin_step(1);
  micro_batch(sink, rank_, 1);
  expect_sums(shards, ranks_, {1});
}

TEST_F(Gradients, AreSummedOverReplicas) {
  if (ranks_ % 2 != 0) GTEST_SKIP() << "two replicas need an even number of ranks";
  Mesh mesh(make_traced(make_mpi_communicator(*stream_, "world"), &trace_),
            {.dp_replicate = 2, .dp_shard = ranks_ / 2});
  const ShardLayout layout(list_, mesh.fsdp().rank(), mesh.fsdp().size());
  ShardedBuffer shards(layout, cpu_device(), *stream_, Purpose::gradients);
  FsdpGradients sink(list_, shards, mesh.fsdp(), mesh.dp_replicate(), mesh.tp(), *stream_);
  sink.begin_step(2);
  trace_.clear();
  for (const int b : {1, 2}) micro_batch(sink, rank_, b);
  EXPECT_EQ(trace_.calls("all_reduce_sum"), 0);  // once a step, not once a micro-batch
  sink.finish_step();
  expect_sums(shards, ranks_, {1, 2});
  EXPECT_EQ(trace_.calls("all_reduce_sum", "dp_replicate"), 1);
  EXPECT_EQ(trace_.bytes("all_reduce_sum", "dp_replicate"), layout.bytes());
}

}  // namespace
}  // namespace octet
