// Weights of a model that computes forward alone: the bits of FsdpWeights, in the memory that docs/evaluation.md says.
#include "src/evaluate/forward_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/reductions.h"
#include "src/evaluate/forward_model.h"
#include "src/evaluate/generator.h"
#include "src/evaluate/memory_needs.h"
#include "src/ops/recipe.h"
#include "src/train/plan/nccl_variables.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"
#include "tests/support/workless_device.h"

namespace octet {
namespace {

LlamaSettings settings_in(Precision precision, const std::string& recipe = "tensorwise") {
  LlamaSettings settings;
  settings.model = {.name = "blocks",
                    .dim = 128,
                    .layers = 6,
                    .heads = 16,
                    .kv_heads = 8,
                    .head_dim = 16,  // for blockwise all extents are multiples of 128
                    .ffn_dim = 256,
                    .vocab_size = 256};
  settings.precision = precision;
  settings.float8.recipe = recipe;
  settings.seq_len = 128;
  return settings;
}

/// All ranks share the pieces of one model.
class ForwardWeightsTest : public testing::Test {
 protected:
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
  Mesh mesh_{control_->on_stream(*stream_, "world"), {.dp_shard = control_->size()}};
  MemoryLedger& ledger_ = cpu_device().ledger();

  MemoryPlan plan_on_cpu(const LlamaSettings& settings) {
    return plan_forward(settings, mesh_.shape(), mesh_.world().rank(), 1, DeviceType::cpu, DeviceType::cpu);
  }

  /// Compares what is made unit by unit with what FsdpWeights makes of all masters.
  void expect_equal(const LlamaSettings& settings) {
    ForwardModel model(settings, mesh_, *stream_);
    const ParameterList& list = model.parameters();
    const ShardLayout layout(list, mesh_.fsdp().rank(), mesh_.fsdp().size());
    ShardedBuffer masters(layout, cpu_device(), *stream_, Purpose::parameters);
    initialize(list, masters, 7, cpu_device(), *stream_);
    model.load([&](const ParameterList& unit, const ShardedBuffer& mine) {
      for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
        const auto bytes = static_cast<std::size_t>(mine.layout().shard(i).elements() * 4);
        std::memcpy(mine.data(i), masters.data(unit.parameters[i].id), bytes);
      }
    });
    const Recipe& recipe = model.llama().recipe();
    const auto scaling = recipe.make_scaling({.weights = list.casts}, *stream_);
    WeightScales scales(list, layout, cpu_device(), *stream_, *scaling, recipe.power_of_two());
    FsdpWeights whole(list, masters, scales, mesh_.fsdp(), mesh_.tp(), *stream_,
                      {.zero = Zero::two, .float8_all_gather = recipe.gathers_float8()});
    scales.measure(masters, kernels_of(*stream_));
    scales.update(reductions::weight_amax(mesh_), kernels_of(*stream_));
    const std::vector<int> order = model.llama().forward_units();
    whole.begin_pass(order);
    for (const int unit : order) {
      const auto want = whole.gather(unit), got = model.weights().gather(unit);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_EQ(got[i].dtype, want[i].dtype);
        EXPECT_EQ(std::memcmp(got[i].data, want[i].data, static_cast<std::size_t>(want[i].bytes())), 0)
            << list.units[static_cast<std::size_t>(unit)] << ", parameter " << i;
        ASSERT_EQ(got[i].inverse_scale == nullptr, want[i].inverse_scale == nullptr);
        if (want[i].inverse_scale == nullptr) continue;
        EXPECT_EQ(*got[i].inverse_scale, *want[i].inverse_scale);
      }
      whole.release(unit);
    }
  }
};

TEST_F(ForwardWeightsTest, AreThoseOfAllMastersAtOnceToTheBit) {
  expect_equal(settings_in(Precision::fp32));
  expect_equal(settings_in(Precision::bf16));
  for (const char* recipe : {"tensorwise", "rowwise", "blockwise", "delayed"}) {
    SCOPED_TRACE(recipe);
    LlamaSettings settings = settings_in(Precision::float8, recipe);
    expect_equal(settings);
    settings.float8.all_gather = AutoBool::no;
    settings.float8.bf16_first_layers = 1;
    expect_equal(settings);
  }
}

TEST_F(ForwardWeightsTest, TakeTheMastersOfOneUnitAtATime) {
  for (const Precision precision : {Precision::bf16, Precision::float8}) {
    ForwardModel model(settings_in(precision), mesh_, *stream_);
    const std::int64_t before = ledger_.total().now;
    ledger_.reset_peaks();
    std::int64_t largest = 0, all = 0;
    model.load([&](const ParameterList& unit, const ShardedBuffer& masters) {
      EXPECT_EQ(unit.parameters.front().unit, unit.parameters.back().unit);
      largest = std::max(largest, masters.bytes());
      all += masters.bytes();
    });
    const std::int64_t held = ledger_.total().now - before, peak = ledger_.total().peak - before;
    EXPECT_LE(peak, held + largest);
    EXPECT_LT(4 * largest, all);
    if (control_->size() > 1) continue;
    EXPECT_LT(peak, all);  // which all masters at once would have been alone
  }
}

/// Nothing is cast, so that nothing is let go.
TEST_F(ForwardWeightsTest, OfFp32WithoutAnExchangeAreTheMasters) {
  if (control_->size() > 1) GTEST_SKIP() << "for 1 rank";
  ForwardModel model(settings_in(Precision::fp32), mesh_, *stream_);
  const std::int64_t before = ledger_.total().now;
  std::int64_t all = 0;
  model.load([&](const ParameterList&, const ShardedBuffer& masters) { all += masters.bytes(); });
  EXPECT_EQ(ledger_.total().now - before, all);
}

TEST_F(ForwardWeightsTest, AndAGeneratorTakeWhatIsPlanned) {
  LlamaSettings settings = settings_in(Precision::bf16);
  settings.cache_rows = 48;
  settings.forward_only = true;
  const MemoryPlan plan = plan_on_cpu(settings);
  constexpr std::array purposes{Purpose::gathered, Purpose::activations, Purpose::workspace, Purpose::data};
  std::array<std::int64_t, purposes.size()> before{};
  for (std::size_t i = 0; i < purposes.size(); ++i) before[i] = ledger_.usage(purposes[i]).now;
  ForwardModel model(settings, mesh_, *stream_);
  model.load([](const ParameterList&, const ShardedBuffer&) {});
  const Generator generator(model, mesh_, *stream_);
  for (std::size_t i = 0; i < purposes.size(); ++i) {
    EXPECT_EQ(plan[purposes[i]], ledger_.usage(purposes[i]).now - before[i]) << name_of(purposes[i]);
  }
  EXPECT_GE(plan[Purpose::gathered], 2 * settings.model.parameters());
}

TEST_F(ForwardWeightsTest, TakeTheMostWhileTheyAreLoadedAsPlanned) {
  if (control_->size() > 1) GTEST_SKIP() << "for 1 rank";
  for (const Precision precision : {Precision::bf16, Precision::float8}) {
    const LlamaSettings settings = settings_in(precision);
    const MemoryPlan plan = plan_on_cpu(settings);
    const std::int64_t before = ledger_.total().now;
    ledger_.reset_peaks();
    ForwardModel model(settings, mesh_, *stream_);
    model.load([](const ParameterList&, const ShardedBuffer&) {});
    EXPECT_GT(ledger_.total().peak, ledger_.total().now);
    EXPECT_EQ(plan.total(), ledger_.total().peak - before);
  }
}

/// What tp sends: gathers; bf16 sums as messages, fp32 ones as a reduce-scatter; abs-maxes of float8.
TEST(PlanForward, HasWhatNcclTakesForAPass) {
  const auto plan = [](Precision precision, std::int64_t cache_rows) {
    LlamaSettings settings = settings_in(precision);
    settings.tp = {0, 8};
    settings.cache_rows = cache_rows;
    return plan_forward(settings, {.tp = 8}, 0, 8, DeviceType::cuda, DeviceType::cpu).nccl;
  };
  const auto nccl = [](const NcclTraffic& traffic) { return nccl_bytes(8, 1, {}, traffic, nccl_variables()); };
  for (const std::int64_t cache_rows : {0, 48}) {
    EXPECT_EQ(plan(Precision::fp32, cache_rows), nccl({.gathers = true}));
    EXPECT_EQ(plan(Precision::bf16, cache_rows), nccl({.gathers = true, .exchanges = true}));
    EXPECT_EQ(plan(Precision::float8, cache_rows), nccl({.gathers = true, .agrees = true, .exchanges = true}));
  }
}

/// Has the CPU's type and little memory.
class SmallDevice final : public test::WorklessDevice {
 public:
  explicit SmallDevice(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t available_bytes() const override { return bytes_; }
  std::unique_ptr<Stream> make_stream(StreamPriority = StreamPriority::normal) override { return nullptr; }
  std::unique_ptr<Event> make_event() override { return nullptr; }
  std::unique_ptr<Event> make_timing_event() override { return nullptr; }

 private:
  std::int64_t bytes_;
};

/// Of all ranks, though one of them alone lacks memory.
TEST_F(ForwardWeightsTest, ThatDoNotFitAreRefusedBeforeAnythingIsRead) {
  const std::int64_t enough = std::int64_t{1} << 40;
  SmallDevice small(mesh_.world().rank() == 0 ? 1 << 20 : enough), large(enough);
  LlamaSettings settings = settings_in(Precision::bf16);
  EXPECT_NO_THROW(expect_room(settings, mesh_, large, *control_));
  const auto refused = [&] { return test::error_of([&] { expect_room(settings, mesh_, small, *control_); }); };
  const std::string text = refused();
  EXPECT_HAS(text, "[evaluate] memory: rank 0 on ");
  EXPECT_HAS(text, "MiB on workless");
  EXPECT_HAS(text, "the device has 1.0 MiB free");
  EXPECT_HAS(text, "a larger --tp, --precision float8 --float8.recipe tensorwise or a smaller --window");
  EXPECT_HAS(text, "gathered weights");
  EXPECT_EQ(text.find("checkpoints"), std::string::npos) << text;
  settings.precision = Precision::fp32;
  EXPECT_HAS(refused(), "a larger --tp, --precision bf16, --precision float8 --float8.recipe tensorwise or ");
  settings.precision = Precision::float8;
  settings.cache_rows = 16;
  EXPECT_HAS(refused(), "a larger --tp or fewer --tokens");
  settings.float8.recipe = "rowwise";
  EXPECT_HAS(refused(), "a larger --tp, --float8.recipe tensorwise or fewer --tokens");
}

}  // namespace
}  // namespace octet
