// Training in a pipeline beside training on one rank.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "tests/equivalence/trainer_test.h"
#include "tests/support/global_element.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

struct Layout {
  const char* name;
  ParallelConfig parallel{};
  bool tied = false;
  std::int64_t global_batch = 24;
  Precision precision = Precision::fp32;
  RecomputeConfig recompute{};
  bool documents = false;
  const char* recipe = "tensorwise";

  int ranks() const {
    const ParallelConfig& p = parallel;
    return static_cast<int>(p.pp * p.tp * p.dp_replicate * p.dp_shard);
  }
};

void PrintTo(const Layout& layout, std::ostream* out) {
  *out << layout.name;
}

class PipelineTest : public TrainerTest, public testing::WithParamInterface<Layout> {
 protected:
  static constexpr std::int64_t steps = 15;

  /// What a run of some steps tells.
  struct Trained {
    std::vector<double> losses, norms;
    double validation = 0;
  };

  /// Each layout runs with the smallest of the programs' numbers of ranks that is enough for it.
  static bool runs_on(int world, int needed) {
    const int enough = needed <= 2 ? 2 : needed <= 4 ? 4 : 8;
    return world == enough;
  }

  void SetUp() override {
    const Layout& l = GetParam();
    if (!runs_on(world_->size(), l.ranks())) GTEST_SKIP() << "not with " << world_->size() << " ranks";
    config_.model = {.name = "pipeline",
                     .dim = 32,
                     .layers = std::max<std::int64_t>(6, l.parallel.pp * l.parallel.pp_chunks),
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 8,
                     .ffn_dim = 48,
                     .vocab_size = 52,
                     .tied_embedding = l.tied};
    if (std::string(l.recipe) == "blockwise") {  // its extents are multiples of 128
      config_.model.dim = config_.model.ffn_dim = config_.train.seq_len = 128;
      config_.model.kv_heads = config_.model.heads;
      config_.model.head_dim = 32;
    }
    config_.precision = l.precision;
    config_.float8.recipe = l.recipe;
    config_.recompute = l.recompute;
    config_.train.global_batch = l.global_batch;
    config_.train.steps = steps;
    config_.train.validation_batches = 1;
    config_.optimizer.lr = 3e-3;
    config_.schedule.warmup_steps = 2;
    if (l.documents) {
      config_.data.train = {{write_documents(), 1.0}};
      config_.data.document_mask = true;
    }
  }

  static Trained train(Trainer& trainer) {
    Trained t;
    for (std::int64_t step = 1; step <= steps; ++step) {
      const StepResult result = train_step(trainer, step);
      t.losses.push_back(result.loss);
      t.norms.push_back(result.grad_norm);
    }
    t.validation = trainer.validate();
    return t;
  }

  /// The same run on this rank alone.
  struct Alone {
    explicit Alone(const RunConfig& configured)
        : config(without_layout(configured)),
          control(make_self_communicator(*stream, "control")),
          mesh(make_self_communicator(*stream, "world"), {}),
          trainer(config, test::sampler_of(config), mesh, *control, *stream, nullptr) {}
    static RunConfig without_layout(RunConfig config) {
      config.parallel = {};
      config.parallel.dp_shard = 1;
      return config;
    }
    std::unique_ptr<Stream> stream = cpu_device().make_stream();
    RunConfig config;
    std::unique_ptr<Communicator> control;
    Mesh mesh;
    Trainer trainer;
  };

  /// The ranks that the layout needs; none on the others.
  std::unique_ptr<Communicator> part_of_world() {
    const int needed = GetParam().ranks();
    auto part =
        make_mpi_communicator(*stream_, "world")->split(world_->rank() < needed ? 0 : 1, world_->rank(), "world");
    return world_->rank() < needed ? std::move(part) : nullptr;
  }

  MeshShape shape() const {
    const ParallelConfig& p = config_.parallel;
    return {.pp = static_cast<int>(p.pp),
            .dp_replicate = static_cast<int>(p.dp_replicate),
            .dp_shard = static_cast<int>(p.dp_shard),
            .tp = static_cast<int>(p.tp)};
  }

  /// The run on one rank and in the layout. On rank 0 alone: losses and norms are the same on all.
  std::optional<std::pair<Trained, Trained>> train_both() {
    Trained expected;
    if (world_->rank() == 0) {
      Alone one(config_);
      expected = train(one.trainer);
    }
    config_.parallel = GetParam().parallel;
    auto world = part_of_world();
    if (!world) return {};
    Mesh mesh(std::move(world), shape());
    Trainer trainer(config_, test::sampler_of(config_), mesh, mesh.world(), *stream_, nullptr);
    Trained mine = train(trainer);
    if (world_->rank() != 0) return {};
    return std::pair(std::move(expected), std::move(mine));
  }

  /// The distance of this rank's pieces of each parameter from the whole of `one`, as a part of its length.
  static void expect_near(ShardedModel& model, const ShardedBuffer& mine, const ShardedBuffer& whole, double most) {
    const auto& list = model.parameters().parameters;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Shard& shard = mine.layout().shard(i);
      const float* expected = whole.data(list[i].id);
      double difference = 0, length = 0;
      for (std::int64_t e = 0; e < shard.elements(); ++e) {
        const double d = double{mine.data(i)[e]} - expected[test::global_element(shard, e)];
        difference += d * d;
      }
      for (std::int64_t e = 0; e < list[i].global.elements(); ++e) length += double{expected[e]} * expected[e];
      EXPECT_LE(std::sqrt(difference), most * std::sqrt(length)) << list[i].name;
    }
  }
};

struct LayoutsInFp32 : PipelineTest {};

TEST_P(LayoutsInFp32, TrainAsOneRank) {
  const auto both = train_both();
  if (!both) return;
  const auto& [expected, mine] = *both;
  ASSERT_GT(expected.losses.front() - expected.losses.back(), 0.3) << "nothing is learned";
  for (std::size_t i = 0; i < steps; ++i) {
    EXPECT_NEAR(mine.losses[i], expected.losses[i], 2e-5) << "step " << i + 1;
    EXPECT_NEAR(mine.norms[i], expected.norms[i], 1e-4 * expected.norms[i]) << "step " << i + 1;
  }
  EXPECT_NEAR(mine.validation, expected.validation, 2e-5);
}

/// Of the first step, where the weights are the same bits.
TEST_P(LayoutsInFp32, HaveTheGradientsOfOneRank) {
  Alone one(config_);
  config_.parallel = GetParam().parallel;
  auto world = part_of_world();
  if (!world) return;
  Mesh mesh(std::move(world), shape());
  Trainer trainer(config_, test::sampler_of(config_), mesh, mesh.world(), *stream_, nullptr);
  train_step(one.trainer, 1);
  train_step(trainer, 1);
  expect_near(trainer.model(), trainer.model().gradients(), one.trainer.model().gradients(), 1e-5);
}

ParallelConfig parallel(int pp, int tp, int shards, int replicas, int chunks = 1, Zero zero = Zero::two,
                        PipelineOrder order = PipelineOrder::one_f_one_b) {
  ParallelConfig p{.dp_replicate = replicas, .dp_shard = shards, .tp = tp, .pp = pp};
  p.pp_chunks = chunks;
  p.pp_schedule = chunks > 1 ? PipelineOrder::interleaved : order;
  p.zero = zero;
  return p;
}

constexpr auto zb_h1 = PipelineOrder::zb_h1;

/// Chosen so that the few ranks that most pairs need are enough; PairsOfLayouts says that none is missing.
std::vector<Layout> layouts() {
  return {{"pp_2", parallel(2, 1, 1, 1, 1, Zero::three)},
          {"pp_2_tied", parallel(2, 1, 1, 1), true},
          {"pp_2_chunks_2_tied", parallel(2, 1, 1, 1, 2), true},
          {"pp_2_chunks_3", parallel(2, 1, 1, 1, 3), false, 5},
          {"pp_2_documents", parallel(2, 1, 1, 1, 2), false, 12, Precision::fp32, {}, true},
          {"shards_2_replicas_2_zero_1", parallel(1, 1, 2, 2, 1, Zero::one)},
          {"tp_2_shards_2", parallel(1, 2, 2, 1), true},
          {"tp_2_replicas_2", parallel(1, 2, 1, 2, 1, Zero::three)},
          {"pp_2_chunks_2_replicas_2", parallel(2, 1, 1, 2, 2), true},
          {"pp_2_chunks_2_shards_2_zero_3", parallel(2, 1, 2, 1, 2, Zero::three), true},
          {"pp_2_tp_2_zb", parallel(2, 2, 1, 1, 1, Zero::one, zb_h1), true},
          {"pp_2_replicas_2_zb", parallel(2, 1, 1, 2, 1, Zero::three, zb_h1)},
          {"shards_3_replicas_2", parallel(1, 1, 3, 2)},
          {"tp_2_shards_3", parallel(1, 2, 3, 1)},
          {"pp_2_chunks_2_shards_3_zero_1", parallel(2, 1, 3, 1, 2, Zero::one)},
          {"pp_2_shards_3_zb_zero_3", parallel(2, 1, 3, 1, 1, Zero::three, zb_h1), true},
          {"pp_4_chunks_2_tp_2", parallel(4, 2, 1, 1, 2, Zero::three), false, 9},
          {"pp_4_shards_2_zb", parallel(4, 1, 2, 1, 1, Zero::two, zb_h1), true, 14},
          {"pp_4_replicas_2_zero_1", parallel(4, 1, 1, 2, 1, Zero::one)}};
}

INSTANTIATE_TEST_SUITE_P(Layouts, LayoutsInFp32, testing::ValuesIn(layouts()),
                         [](const auto& layout) { return layout.param.name; });

/// What a layout has of each dimension.
using Choices = std::array<std::int64_t, 7>;

Choices choices_of(const ParallelConfig& p) {
  return {p.pp,
          p.tp,
          p.dp_shard,
          p.dp_replicate,
          p.pp_chunks,
          static_cast<std::int64_t>(p.zero),
          static_cast<std::int64_t>(p.pp_schedule)};
}

using Pair = std::array<std::int64_t, 4>;  ///< two dimensions and what is chosen of each

std::set<Pair> pairs_of(const std::vector<ParallelConfig>& all) {
  std::set<Pair> pairs;
  for (const ParallelConfig& p : all) {
    const Choices chosen = choices_of(p);
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        pairs.insert({static_cast<std::int64_t>(a), chosen.at(a), static_cast<std::int64_t>(b), chosen.at(b)});
      }
    }
  }
  return pairs;
}

/// Every layout of up to 8 ranks that no option refuses.
std::vector<ParallelConfig> feasible() {
  std::vector<ParallelConfig> all;
  const auto add = [&](const ParallelConfig& p) {
    if (p.pp * p.tp * p.dp_shard * p.dp_replicate <= 8) all.push_back(p);
  };
  for (const int pp : {1, 2, 4}) {
    for (const int tp : {1, 2}) {
      for (const int shards : {1, 2, 3}) {
        for (const int replicas : {1, 2}) {
          for (const Zero zero : {Zero::one, Zero::two, Zero::three}) {
            add(parallel(pp, tp, shards, replicas, 1, zero));
            if (pp == 1) continue;
            add(parallel(pp, tp, shards, replicas, 2, zero));
            add(parallel(pp, tp, shards, replicas, 1, zero, zb_h1));
          }
        }
      }
    }
  }
  return all;
}

TEST(PairsOfLayouts, AreAllTrained) {
  std::vector<ParallelConfig> trained;
  for (const Layout& l : layouts()) trained.push_back(l.parallel);
  const std::set<Pair> mine = pairs_of(trained), all = pairs_of(feasible());
  EXPECT_EQ(all.size(), 131U);
  for (const Pair& pair : all) EXPECT_TRUE(mine.contains(pair)) << testing::PrintToString(pair);
}

struct PrecisionsAndRecipes : PipelineTest {};

/// A pass has the bits of no pipeline, and without clipping nothing is summed over stages but what is told. So all
/// comes out the same to the bit.
TEST_P(PrecisionsAndRecipes, HaveTheBitsOfOneRank) {
  config_.optimizer.clip_norm = 0;
  Alone one(config_);
  config_.parallel = GetParam().parallel;
  Mesh mesh(part_of_world(), shape());
  Trainer trainer(config_, test::sampler_of(config_), mesh, mesh.world(), *stream_, nullptr);
  const Trained expected = train(one.trainer), mine = train(trainer);
  EXPECT_EQ(mine.losses, expected.losses);
  EXPECT_EQ(mine.validation, expected.validation);
  expect_near(trainer.model(), trainer.model().master(), one.trainer.model().master(), 0);
}

const RecomputeConfig full{.mode = RecomputeMode::full},
    ffn{.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn};

INSTANTIATE_TEST_SUITE_P(
    Runs, PrecisionsAndRecipes,
    testing::Values(
        Layout{"fp32", parallel(2, 1, 1, 1)},
        Layout{"bf16_full", parallel(2, 1, 1, 1, 2), false, 24, Precision::bf16, full},
        Layout{"float8", parallel(2, 1, 1, 1), false, 24, Precision::float8},
        Layout{"float8_ffn_chunks_3", parallel(2, 1, 1, 1, 3), false, 8, Precision::float8, ffn},
        Layout{"rowwise_documents", parallel(2, 1, 1, 1), false, 12, Precision::float8, {}, true, "rowwise"},
        Layout{"gw_hp_full", parallel(2, 1, 1, 1), false, 24, Precision::float8, full, false, "rowwise_with_gw_hp"},
        Layout{"blockwise_chunks_2", parallel(2, 1, 1, 1, 2), false, 8, Precision::float8, {}, false, "blockwise"},
        Layout{"delayed_full", parallel(2, 1, 1, 1), false, 24, Precision::float8, full, false, "delayed"},
        Layout{"delayed_chunks_3", parallel(2, 1, 1, 1, 3), false, 8, Precision::float8, {}, false, "delayed"},
        Layout{"delayed_pp_4", parallel(4, 1, 1, 1), false, 8, Precision::float8, ffn, false, "delayed"},
        Layout{"float8_pp_4", parallel(4, 1, 1, 1), false, 24, Precision::float8}),
    [](const auto& run) { return run.param.name; });

struct DividedLowPrecision : PipelineTest {};

/// Where data are divided too, gradients are summed in another order, and a rounding more or less to 16 or 8 bits makes
/// losses differ by more than in fp32.
TEST_P(DividedLowPrecision, StaysNearOneRank) {
  const auto both = train_both();
  if (!both) return;
  const auto& [expected, mine] = *both;
  const double most = config_.precision == Precision::float8 ? 2e-3 : 1e-3;
  for (std::size_t i = 0; i < steps; ++i) {
    EXPECT_NEAR(mine.losses[i], expected.losses[i], most) << "step " << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Runs, DividedLowPrecision,
    testing::Values(
        Layout{"bf16_shards_2_zero_1", parallel(2, 1, 2, 1, 1, Zero::one), true, 24, Precision::bf16},
        Layout{"float8_shards_2_zero_1", parallel(2, 1, 2, 1, 1, Zero::one), false, 24, Precision::float8},
        Layout{"float8_tp_2", parallel(2, 2, 1, 1), false, 24, Precision::float8},
        Layout{"rowwise_replicas_2", parallel(2, 1, 1, 2, 2), false, 24, Precision::float8, {}, false, "rowwise"},
        Layout{"delayed_shards_2_zb",
               parallel(2, 1, 2, 1, 1, Zero::two, zb_h1),
               false,
               24,
               Precision::float8,
               {},
               false,
               "delayed"}),
    [](const auto& run) { return run.param.name; });

struct ZbH1 : PipelineTest {};

/// Gradients are added in the same order, wherever they are made.
TEST_P(ZbH1, HasTheBitsOf1F1B) {
  config_.parallel = GetParam().parallel;
  RunConfig split = config_;
  split.parallel.pp_schedule = PipelineOrder::zb_h1;
  auto world = part_of_world();
  if (!world) return;
  Mesh mesh(std::move(world), shape());
  Trainer expected(config_, test::sampler_of(config_), mesh, mesh.world(), *stream_, nullptr);
  Trainer mine(split, test::sampler_of(split), mesh, mesh.world(), *stream_, nullptr);
  for (std::int64_t step = 1; step <= 4; ++step) {
    const StepResult a = train_step(expected, step), b = train_step(mine, step);
    EXPECT_EQ(b.loss, a.loss) << "step " << step;
    EXPECT_EQ(b.grad_norm, a.grad_norm) << "step " << step;
    const ShardedBuffer &of_a = expected.model().gradients(), &of_b = mine.model().gradients();
    for (std::size_t i = 0; i < mine.model().parameters().parameters.size(); ++i) {
      const auto n = static_cast<std::size_t>(of_a.layout().shard(i).elements());
      EXPECT_EQ(std::memcmp(of_a.data(i), of_b.data(i), n * 4), 0)
          << mine.model().parameters().parameters[i].name << ", step " << step;
    }
  }
  EXPECT_EQ(mine.validate(), expected.validate());
}

INSTANTIATE_TEST_SUITE_P(
    Runs, ZbH1,
    testing::Values(Layout{"fp32_tied", parallel(2, 1, 1, 1), true},
                    Layout{"bf16_every_2",
                           parallel(2, 1, 1, 1),
                           false,
                           24,
                           Precision::bf16,
                           {.mode = RecomputeMode::full, .every = 2}},
                    Layout{"float8_documents", parallel(2, 1, 1, 1), false, 12, Precision::float8, {}, true},
                    Layout{"rowwise", parallel(2, 1, 1, 1), false, 12, Precision::float8, {}, false, "rowwise"},
                    Layout{"delayed", parallel(2, 1, 1, 1), false, 12, Precision::float8, {}, false, "delayed"},
                    Layout{
                        "gw_hp", parallel(2, 1, 1, 1), false, 12, Precision::float8, {}, false, "rowwise_with_gw_hp"},
                    Layout{"blockwise", parallel(2, 1, 1, 1), true, 8, Precision::float8, {}, false, "blockwise"},
                    Layout{"fp32_pp_4", parallel(4, 1, 1, 1), true, 9},
                    Layout{"bf16_pp_4", parallel(4, 1, 1, 1), false, 7, Precision::bf16},
                    Layout{"float8_pp_4", parallel(4, 1, 1, 1), false, 9, Precision::float8},
                    Layout{"rowwise_pp_4", parallel(4, 1, 1, 1), false, 9, Precision::float8, {}, false, "rowwise"},
                    Layout{"delayed_pp_4", parallel(4, 1, 1, 1), false, 9, Precision::float8, {}, false, "delayed"},
                    Layout{"fp32_tp_2", parallel(2, 2, 1, 1), true, 12},
                    Layout{"bf16_tp_2", parallel(2, 2, 1, 1), false, 12, Precision::bf16},
                    Layout{"delayed_tp_2", parallel(2, 2, 1, 1), false, 12, Precision::float8, {}, false, "delayed"},
                    Layout{"float8_tp_2", parallel(2, 2, 1, 1), true, 12, Precision::float8},
                    Layout{"rowwise_tp_2", parallel(2, 2, 1, 1), false, 12, Precision::float8, {}, false, "rowwise"},
                    Layout{"bf16_shards_2", parallel(2, 1, 2, 1), true, 24, Precision::bf16},
                    Layout{"float8_shards_2_zero_1", parallel(2, 1, 2, 1, 1, Zero::one), false, 24, Precision::float8},
                    Layout{"fp32_shards_2_zero_3", parallel(2, 1, 2, 1, 1, Zero::three)}),
    [](const auto& run) { return run.param.name; });

}  // namespace
}  // namespace octet
