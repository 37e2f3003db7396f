// Gradients that travel in bf16 and are summed in fp32.
#include "src/comm/mesh.h"
#include "src/parallel/fsdp_gradients.h"
#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

/// Integers of at most 8 bits, so that nothing is rounded on the wire; most sums of two have 9 bits, which bf16 has
/// not.
float exact_value(int rank, int micro_batch, std::size_t i, std::size_t e) {
  return static_cast<float>(129 + (e * 7 + i * 31 + static_cast<std::size_t>(rank * 11 + micro_batch * 5)) % 127);
}

/// Fractions that bf16 rounds.
float any_value(int rank, int micro_batch, std::size_t i, std::size_t e) {
  return 1.0f / static_cast<float>(3 + rank + 17 * micro_batch + static_cast<int>((e + i) % 101));
}

struct GradientWire : test::ParallelTest {
  using Value = float (*)(int rank, int micro_batch, std::size_t i, std::size_t e);

  void SetUp() override {
    if (ranks_ == 1) GTEST_SKIP() << "one rank: nothing travels";
    use(test::example_list(DType::e4m3));
  }
  std::unique_ptr<FsdpGradients> sink(ShardedBuffer& shards, DType wire) {
    return std::make_unique<FsdpGradients>(list_, shards, *world_, *self_, *self_, *stream_,
                                           FsdpOptions{.gradient_wire = wire});
  }
  void write(FsdpGradients& to, int unit, Value value, int micro_batch) const {
    const auto targets = to.open(unit);
    const std::size_t first = list_.range(unit).first;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      float* g = targets[t].tensor.as<float>();
      for (std::size_t e = 0; e < static_cast<std::size_t>(targets[t].tensor.elements()); ++e) {
        g[e] = (targets[t].accumulate ? g[e] : 0.0f) + value(rank_, micro_batch, first + t, e);
      }
    }
  }
  void micro_batch(FsdpGradients& to, Value value, int b) const {
    for (const int unit : {3, 2, 1, 0}) {
      write(to, unit, value, b);
      to.close(unit);
    }
  }
  /// One micro-batch after the other, each the sum in rank order of what was rounded once; to the bit.
  void expect_ordered_sums(const ShardedBuffer& shards, Value value, const std::vector<int>& micro_batches) const {
    for (std::size_t i = 0; i < count(); ++i) {
      const Shard& s = shards.layout().shard(i);
      for (std::int64_t e = 0; e < s.padded_elements(); ++e) {
        float expected = 0;
        for (const int b : e < s.elements() ? micro_batches : std::vector<int>{}) {
          const auto global = static_cast<std::size_t>(s.global_element(e));
          float sum = static_cast<float>(bf16(value(0, b, i, global)));
          for (int r = 1; r < ranks_; ++r) sum += static_cast<float>(bf16(value(r, b, i, global)));
          expected += sum;
        }
        ASSERT_EQ(shards.data(i)[e], expected) << spec(i).name << ", element " << e << " of " << s.elements();
      }
    }
  }
};

TEST_F(GradientWire, Bf16SumsInFp32OverRanksAndMicroBatches) {
  for (const Value value : {exact_value, any_value}) {
    ShardedBuffer shards = buffer(Purpose::gradients);
    const auto bf16_wire = sink(shards, DType::bf16);
    for (int step = 0; step < 2; ++step) {  // a new step forgets the old
      bf16_wire->begin_step(3);
      for (const int b : {1, 2, 3}) micro_batch(*bf16_wire, value, 4 * step + b);
      bf16_wire->finish_step();
      expect_ordered_sums(shards, value, {4 * step + 1, 4 * step + 2, 4 * step + 3});
    }
    EXPECT_EQ(non_zero_padding(shards), 0);
  }
}

TEST_F(GradientWire, IntegersAreSummedAsByTheFp32Wire) {
  ShardedBuffer narrow = buffer(Purpose::gradients), wide = buffer(Purpose::gradients);
  const auto bf16_wire = sink(narrow, DType::bf16), fp32_wire = sink(wide, DType::f32);
  for (FsdpGradients* wire : {bf16_wire.get(), fp32_wire.get()}) wire->begin_step(2);
  for (const int b : {1, 2}) {
    micro_batch(*bf16_wire, exact_value, b);
    micro_batch(*fp32_wire, exact_value, b);
  }
  const auto n = static_cast<std::size_t>(layout_->elements());
  EXPECT_EQ(std::vector<float>(narrow.all(), narrow.all() + n), std::vector<float>(wide.all(), wide.all() + n));
}

/// A tied embedding: both its gradients are added in fp32 before they are rounded.
TEST_F(GradientWire, AReopenedUnitIsRoundedOnce) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  const auto bf16_wire = sink(shards, DType::bf16);
  bf16_wire->begin_step(1);
  write(
      *bf16_wire, 0, [](int, int, std::size_t, std::size_t) { return 1.0f; }, 1);
  write(
      *bf16_wire, 0, [](int, int, std::size_t, std::size_t) { return 0x1p-9f + 0x1p-12f; }, 1);
  write(
      *bf16_wire, 0, [](int, int, std::size_t, std::size_t) { return 0x1p-9f; }, 1);
  bf16_wire->close(0);
  const Shard& s = layout_->shard(0);
  for (std::int64_t e = 0; e < s.elements(); ++e) {  // rounded one by one, the small ones would vanish
    ASSERT_EQ(shards.data(0)[e], static_cast<float>(ranks_) * (1.0f + 0x1p-7f));
  }
}

TEST_F(GradientWire, Bf16TravelsInExactlyHalfTheBytes) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  const auto traced = [&](DType wire) {
    const auto with = sink(shards, wire);
    trace_.clear();
    with->begin_step(2);
    for (const int b : {1, 2}) micro_batch(*with, any_value, b);
    with->finish_step();
    return trace_.records();
  };
  const auto wide = traced(DType::f32), narrow = traced(DType::bf16);
  ASSERT_EQ(wide.size(), narrow.size());
  for (std::size_t c = 0; c < wide.size(); ++c) {
    EXPECT_EQ(wide[c].operation, "reduce_scatter");
    EXPECT_EQ(narrow[c].operation, "all_to_all");
    EXPECT_EQ(narrow[c].unit, wide[c].unit);
    EXPECT_EQ(narrow[c].count, wide[c].count);
    EXPECT_EQ(2 * narrow[c].bytes, wide[c].bytes);
  }
}

TEST_F(GradientWire, SumsOverReplicasStayFp32) {
  if (ranks_ % 2 != 0 || ranks_ == 2) GTEST_SKIP() << "two replicas of several shards need 4 or 8 ranks";
  Mesh mesh(make_traced(make_mpi_communicator(*stream_, "world"), &trace_),
            {.dp_replicate = 2, .dp_shard = ranks_ / 2});
  const ShardLayout layout(list_, mesh.shards().rank(), mesh.shards().size());
  ShardedBuffer shards(layout, cpu_device(), *stream_, Purpose::gradients);
  FsdpGradients gradients(list_, shards, mesh.shards(), mesh.dp_replicate(), mesh.tp(), *stream_,
                          {.gradient_wire = DType::bf16});
  gradients.begin_step(1);
  trace_.clear();
  micro_batch(gradients, exact_value, 1);
  gradients.finish_step();
  expect_ordered_sums(shards, exact_value, {1});  // integers: any order is the same
  EXPECT_EQ(trace_.bytes("all_reduce_sum", "dp_replicate"), layout.bytes());
}

TEST(GradientWireRefused, WhereNothingTravels) {
  const auto stream = cpu_device().make_stream();
  const auto self = make_self_communicator(*stream, "self");
  const ParameterList list = test::example_list(DType::bf16);
  const ShardLayout layout(list, 0, 1);
  ShardedBuffer shards(layout, cpu_device(), *stream, Purpose::gradients);
  EXPECT_THROW(FsdpGradients(list, shards, *self, *self, *self, *stream, {.gradient_wire = DType::bf16}), Error);
  EXPECT_THROW(FsdpGradients(list, shards, *self, *self, *self, *stream, {.gradient_wire = DType::e5m2}), Error);
}

}  // namespace
}  // namespace octet
