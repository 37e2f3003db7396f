// Gradients that travel in bf16 and are summed in fp32.
#include "src/comm/mesh.h"
#include "src/parallel/fsdp_gradients.h"
#include "tests/parallel/parallel_test.h"
#include "tests/support/global_element.h"

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

/// The parameter is what GEMMs leave: with bf16 what has to be rounded is rounded before the sink sees it.
struct GradientWire : test::ParallelTest, testing::WithParamInterface<DType> {
  using Value = float (*)(int rank, int micro_batch, std::size_t i, std::size_t e);

  void SetUp() override {
    if (ranks_ == 1) GTEST_SKIP() << "one rank: nothing travels";
    use(test::example_list(DType::e4m3));
  }
  std::unique_ptr<FsdpGradients> sink(ShardedBuffer& shards, DType wire) {
    return std::make_unique<FsdpGradients>(
        list_, shards, *world_, *self_, *self_, *stream_,
        FsdpOptions{.gradient_wire = wire, .gemm_gradient_dtype = wire == DType::f32 ? DType::f32 : GetParam()});
  }
  void write(FsdpGradients& to, int unit, Value value, int micro_batch) const {
    const auto targets = to.open(unit);
    const std::size_t first = list_.range(unit).first;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const auto n = static_cast<std::size_t>(targets[t].tensor.elements());
      if (targets[t].tensor.dtype == DType::bf16) {
        ASSERT_FALSE(targets[t].accumulate);
        bf16* g = targets[t].tensor.as<bf16>();
        for (std::size_t e = 0; e < n; ++e) g[e] = bf16(value(rank_, micro_batch, first + t, e));
        continue;
      }
      float* g = targets[t].tensor.as<float>();
      for (std::size_t e = 0; e < n; ++e) {
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
          const auto global = static_cast<std::size_t>(test::global_element(s, e));
          float sum = static_cast<float>(bf16(value(0, b, i, global)));
          for (int r = 1; r < ranks_; ++r) sum += static_cast<float>(bf16(value(r, b, i, global)));
          expected += sum;
        }
        ASSERT_EQ(shards.data(i)[e], expected) << spec(i).name << ", element " << e << " of " << s.elements();
      }
    }
  }
};

TEST_P(GradientWire, Bf16SumsInFp32OverRanksAndMicroBatches) {
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

TEST_P(GradientWire, IntegersAreSummedAsByTheFp32Wire) {
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
TEST_P(GradientWire, AReopenedUnitIsRoundedOnce) {
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

TEST_P(GradientWire, Bf16TravelsInExactlyHalfTheBytes) {
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

TEST_P(GradientWire, SumsOverReplicasStayFp32) {
  if (ranks_ % 2 != 0 || ranks_ == 2) GTEST_SKIP() << "two replicas of several shards need 4 or 8 ranks";
  Mesh mesh(make_traced(make_mpi_communicator(*stream_, "world"), &trace_),
            {.dp_replicate = 2, .dp_shard = ranks_ / 2});
  const ShardLayout layout(list_, mesh.fsdp().rank(), mesh.fsdp().size());
  ShardedBuffer shards(layout, cpu_device(), *stream_, Purpose::gradients);
  FsdpGradients gradients(list_, shards, mesh.fsdp(), mesh.dp_replicate(), mesh.tp(), *stream_,
                          {.gradient_wire = DType::bf16, .gemm_gradient_dtype = GetParam()});
  gradients.begin_step(1);
  trace_.clear();
  micro_batch(gradients, exact_value, 1);
  gradients.finish_step();
  expect_ordered_sums(shards, exact_value, {1});  // integers: any order is the same
  EXPECT_EQ(trace_.bytes("all_reduce_sum", "dp_replicate"), layout.bytes());
}

INSTANTIATE_TEST_SUITE_P(GemmsLeave, GradientWire, testing::Values(DType::f32, DType::bf16),
                         [](const auto& c) { return std::string(name_of(c.param)); });

TEST_P(GradientWire, MatricesOfBlocksAreWrittenAsTheirGemmsLeaveThem) {
  ShardedBuffer shards = buffer(Purpose::gradients);
  const auto bf16_wire = sink(shards, DType::bf16);
  bf16_wire->begin_step(1);
  for (const int unit : {3, 2, 1, 0}) {
    const std::size_t first = list_.range(unit).first;
    const auto targets = bf16_wire->open(unit);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const bool matrix_of_block = (unit == 1 || unit == 2) && spec(first + t).shape.rank() == 2;
      EXPECT_EQ(targets[t].tensor.dtype, matrix_of_block ? GetParam() : DType::f32) << spec(first + t).name;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(targets[t].tensor.data) % 64, 0u);  // as a host's memory begins
    }
  }
}

/// 2 bytes in place of 4 for each element of a block's matrices, with the padding of their rows; all else is the same.
TEST_P(GradientWire, AUnitTakesWhatItsGradientsTake) {
  const FsdpOptions options{.gradient_wire = DType::bf16, .gemm_gradient_dtype = GetParam()};
  const GradientLayout places(list_, ranks_, options);
  for (int unit = 0; unit < 4; ++unit) {
    std::int64_t bytes = 0, in_bf16 = 0;
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      const std::int64_t n = layout_->shard(i).padded_elements() * ranks_;
      const std::int64_t size = spec(i).one_gemm_gradient ? size_of(GetParam()) : 4;
      const std::int64_t place = (n * size + 255) / 256 * 256;
      bytes += place;
      in_bf16 += size == 4 ? place / 2 : place;
    }
    EXPECT_EQ(places.unit_bytes(unit), bytes);
    EXPECT_EQ(places.bytes_in_bf16(unit), in_bf16);
  }
}

/// One shard that exchanges nothing: the pieces themselves are written.
struct OneShard : testing::Test {
  const std::unique_ptr<Stream> stream = cpu_device().make_stream();
  const std::unique_ptr<Communicator> self = make_self_communicator(*stream, "self");
  const ParameterList list = test::example_list(DType::e4m3);
  const ShardLayout layout{list, 0, 1};

  ShardedBuffer pieces(const FsdpOptions& options) const {
    return ShardedBuffer(layout, cpu_device(), *stream, Purpose::gradients, gradient_piece_dtypes(list, 1, options));
  }
  bool refuses(const FsdpOptions& of_pieces, const FsdpOptions& options, Communicator* replicas = nullptr) const {
    ShardedBuffer shards = pieces(of_pieces);
    try {
      FsdpGradients(list, shards, *self, replicas == nullptr ? *self : *replicas, *self, *stream, options);
    } catch (const Error&) {
      return true;
    }
    return false;
  }
};

TEST_F(OneShard, HoldsInBf16WhatOneGemmWritesAndInFp32AllElse) {
  const FsdpOptions narrow{.gradient_wire = DType::bf16, .gemm_gradient_dtype = DType::bf16};
  ShardedBuffer shards = pieces(narrow);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const ParameterSpec& p = list.parameters[i];
    bytes += (p.shape.elements() * (p.one_gemm_gradient ? 2 : 4) + 255) / 256 * 256;
  }
  EXPECT_EQ(shards.bytes(), bytes);
  EXPECT_THROW(shards.all(), Error);
  EXPECT_THROW(shards.data(2), Error);
  EXPECT_NO_THROW(shards.data(0));
  FsdpGradients sink(list, shards, *self, *self, *self, *stream, narrow);
  EXPECT_THROW(sink.begin_step(2), Error);  // nothing can be added to what is rounded
  sink.begin_step(1);
  for (const int unit : {3, 2, 1, 0}) {
    const std::size_t first = list.range(unit).first;
    const auto targets = sink.open(unit);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      EXPECT_EQ(targets[t].tensor.data, shards.piece(first + t));
      EXPECT_EQ(targets[t].tensor.dtype, shards.dtype(first + t));
      EXPECT_EQ(targets[t].tensor.dtype, list.parameters[first + t].one_gemm_gradient ? DType::bf16 : DType::f32);
    }
    sink.close(unit);
  }
  sink.finish_step();
}

/// As in a larger group, each gradient is rounded once.
TEST_F(OneShard, ExchangesWithItselfWhereItIsTold) {
  for (const DType gemms : {DType::f32, DType::bf16}) {
    const FsdpOptions options{.gradient_wire = DType::bf16, .gemm_gradient_dtype = gemms, .one_rank_exchange = true};
    ShardedBuffer shards = pieces(options);
    FsdpGradients sink(list, shards, *self, *self, *self, *stream, options);
    sink.begin_step(2);
    for (int b = 0; b < 2; ++b) {
      const GradientTarget target = sink.open(1)[1];
      for (std::int64_t e = 0; e < target.tensor.elements(); ++e) {
        const float value = any_value(0, b, 2, static_cast<std::size_t>(e));
        gemms == DType::f32 ? void(target.tensor.as<float>()[e] = value)
                            : void(target.tensor.as<bf16>()[e] = bf16(value));
      }
      sink.close(1);
    }
    for (std::int64_t e = 0; e < layout.shard(2).elements(); ++e) {
      const auto rounded = [&](int b) {
        return static_cast<float>(bf16(any_value(0, b, 2, static_cast<std::size_t>(e))));
      };
      ASSERT_EQ(shards.data(2)[e], rounded(0) + rounded(1)) << e;
    }
  }
}

TEST_F(OneShard, RefusesWhatNothingIsMeantBy) {
  const FsdpOptions wide, narrow{.gradient_wire = DType::bf16, .gemm_gradient_dtype = DType::bf16};
  EXPECT_FALSE(refuses(wide, wide));
  EXPECT_FALSE(refuses(narrow, narrow));
  EXPECT_TRUE(refuses(wide, narrow));
  EXPECT_TRUE(refuses(narrow, wide));
  EXPECT_TRUE(refuses(wide, {.gradient_wire = DType::bf16}));  // nothing travels, and nothing is rounded
  EXPECT_TRUE(refuses(wide, {.gradient_wire = DType::e5m2}));
  EXPECT_TRUE(refuses(narrow, {.gemm_gradient_dtype = DType::bf16}));
  const auto world = make_mpi_communicator(*stream, "world");
  if (world->size() > 1) {
    EXPECT_TRUE(refuses(narrow, narrow, world.get()));  // sums over replicas are of fp32
  }
}

/// With Zero::one a unit's gradients are added up until the last micro-batch.
TEST_F(OneShard, KeepsNothingThatIsRounded) {
  const FsdpOptions kept{
      .zero = Zero::one, .gradient_wire = DType::bf16, .gemm_gradient_dtype = DType::bf16, .one_rank_exchange = true};
  ShardedBuffer shards = pieces(kept);
  FsdpGradients sink(list, shards, *self, *self, *self, *stream, kept);
  EXPECT_NO_THROW(sink.begin_step(1));
  EXPECT_THROW(sink.begin_step(2), Error);
}

}  // namespace
}  // namespace octet
