// A pipeline's state: checkpoints that go on in every layout, and the two copies of a tied embedding.
#include <cmath>
#include <limits>
#include <set>

#include "checkpoints/restore/restore.h"
#include "checkpoints/save/saver.h"
#include "src/train/health/replica_check.h"
#include "src/train/step/model_state.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/equivalence/written_once.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

ParallelConfig layout_of(std::int64_t pp, std::int64_t chunks = 1, std::int64_t tp = 1, std::int64_t replicas = 1) {
  ParallelConfig p{.dp_replicate = replicas, .dp_shard = 0, .tp = tp, .pp = pp};
  p.pp_chunks = chunks;
  if (chunks > 1) p.pp_schedule = PipelineOrder::interleaved;
  p.zero = Zero::two;
  return p;
}

/// A run of a tied model in a pipeline, and its checkpoint.
class PipelineState : public TrainerTest {
 protected:
  void SetUp() override {
    if (world_->size() != 2 && world_->size() != 4) GTEST_SKIP() << "not with " << world_->size() << " ranks";
    config_.model.layers = 4;
    config_.model.tied_embedding = true;
    config_.precision = Precision::bf16;
    config_.optimizer.lr = 3e-3;
    config_.schedule.warmup_steps = 2;
  }

  struct Rank {
    Rank(RunConfig& config, Stream& stream, const ParallelConfig& layout)
        : mesh(make_mpi_communicator(stream, "world"), {.pp = static_cast<int>(layout.pp),
                                                        .dp_replicate = static_cast<int>(layout.dp_replicate),
                                                        .dp_shard = 0,
                                                        .tp = static_cast<int>(layout.tp)}),
          trainer(laid_out(config, layout), test::sampler_of(config), mesh, mesh.world(), stream, nullptr) {}
    static const RunConfig& laid_out(RunConfig& config, const ParallelConfig& layout) {
      config.parallel = layout;
      return config;
    }
    Mesh mesh;
    Trainer trainer;
  };

  checkpoint::Found save(Rank& rank, std::int64_t step) {
    checkpoint::Saver saver({.root = folder_ / "checkpoints"}, rank.mesh.world(), *stream_);
    saver.start({.step = step, .seed = 1, .config = "a: 1\n", .layout = "", .program = "test"},
                held_pieces(rank.trainer.model()));
    EXPECT_TRUE(saver.finish());
    auto found = checkpoint::find_newest_valid(folder_ / "checkpoints", rank.mesh.world());
    if (!found) throw internal_error("tests", "nothing saved");
    return *found;
  }
};

/// Saved in one order of passes, resumed in every layout.
class PipelineStateOf : public PipelineState, public testing::WithParamInterface<PipelineOrder> {};

TEST_P(PipelineStateOf, GoesOnInEveryLayout) {
  ParallelConfig saved = layout_of(2), other = saved;
  saved.pp_schedule = GetParam();
  other.pp_schedule = GetParam() == PipelineOrder::zb_h1 ? PipelineOrder::one_f_one_b : PipelineOrder::zb_h1;
  Rank first(config_, *stream_, saved);
  for (int step = 1; step <= 3; ++step) train_step(first.trainer, step);
  const checkpoint::Found found = save(first, 3);
  test::expect_written_once(found);  // also the embedding of both ends
  const StepResult fourth = train_step(first.trainer, 4), fifth = train_step(first.trainer, 5);
  for (const ParallelConfig& layout : {saved, other, layout_of(1), layout_of(world_->size()), layout_of(2, 2)}) {
    SCOPED_TRACE(fmt::format("pp {} chunks {} {}", layout.pp, layout.pp_chunks, layout.pp_schedule));
    RunConfig config = config_;
    Rank second(config, *stream_, layout);
    load_state(second.trainer.model(), found.directory, found.manifest, *stream_);
    for (const StepResult& expected : {fourth, fifth}) {  // the fifth shows the moments with which the fourth updated
      const StepResult result = train_step(second.trainer, expected.step);
      // Chunks add up the norm, and with it the update, in another order.
      const bool same = layout.pp == 2 && (layout.pp_chunks == 1 || expected.step == 4);
      EXPECT_NEAR(result.loss, expected.loss, same ? 0 : 2e-5) << "step " << expected.step;
      EXPECT_NEAR(result.grad_norm, expected.grad_norm, 1e-4 * expected.grad_norm) << "step " << expected.step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, PipelineStateOf, testing::Values(PipelineOrder::one_f_one_b, PipelineOrder::zb_h1),
                         [](const auto& order) {
                           return order.param == PipelineOrder::zb_h1 ? "zb_h1" : "one_f_one_b";
                         });

class StateOfFourStages : public PipelineState {
 protected:
  void SetUp() override {
    if (world_->size() != 4 && world_->size() != 8) GTEST_SKIP() << "not with " << world_->size() << " ranks";
    config_.model = {.name = "eight blocks",
                     .dim = 32,
                     .layers = 8,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 8,
                     .ffn_dim = 48,
                     .vocab_size = 52,
                     .tied_embedding = true};
    config_.precision = Precision::fp32;
    config_.train.global_batch = 24;
    config_.optimizer.lr = 3e-3;
    config_.schedule.warmup_steps = 2;
  }
};

TEST_F(StateOfFourStages, GoesOnInOneTwoAndEightWithOtherTpAndDp) {
  const ParallelConfig saved = layout_of(4);
  Rank first(config_, *stream_, saved);
  for (int step = 1; step <= 3; ++step) train_step(first.trainer, step);
  const checkpoint::Found found = save(first, 3);
  const StepResult fourth = train_step(first.trainer, 4), fifth = train_step(first.trainer, 5);
  for (const ParallelConfig& layout : {saved, layout_of(1), layout_of(1, 1, 2, 2), layout_of(2, 1, 2),
                                       layout_of(2, 2, 1, 2), layout_of(4, 1, 2), layout_of(4, 2), layout_of(8)}) {
    if (world_->size() % (layout.pp * layout.tp * layout.dp_replicate) != 0) continue;
    SCOPED_TRACE(
        fmt::format("pp {} chunks {} tp {} replicas {}", layout.pp, layout.pp_chunks, layout.tp, layout.dp_replicate));
    RunConfig config = config_;
    Rank second(config, *stream_, layout);
    load_state(second.trainer.model(), found.directory, found.manifest, *stream_);
    const bool same = layout.pp == 4 && layout.pp_chunks == 1 && layout.tp == 1;
    for (const StepResult& expected : {fourth, fifth}) {
      const StepResult result = train_step(second.trainer, expected.step);
      EXPECT_NEAR(result.loss, expected.loss, same ? 0 : 2e-5) << "step " << expected.step;
      EXPECT_NEAR(result.grad_norm, expected.grad_norm, same ? 0 : 1e-4 * expected.grad_norm)
          << "step " << expected.step;
    }
  }
}

/// The loss is NaN on all ranks then, all skip the update, and all name what every stage has counted.
TEST_F(PipelineState, WhatIsNotFiniteInOneStageIsKnownToAll) {
  Rank rank(config_, *stream_, layout_of(2));
  EXPECT_TRUE(train_step(rank.trainer, 1).is_finite());
  ShardedModel& model = rank.trainer.model();
  if (rank.mesh.coordinates().pp == 1) {
    model.master().data(model.parameters().range(block_unit(3)).first)[0] = std::numeric_limits<float>::quiet_NaN();
  }
  model.weights_changed();
  StepResult result = train_step(rank.trainer, 2);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_TRUE(result.skipped);
  rank.trainer.name_non_finite(result);
  std::set<std::string> units;
  for (const auto& finding : result.non_finite) units.insert(finding.unit);
  EXPECT_TRUE(units.contains("block.0")) << "gradients of the first stage";
  EXPECT_TRUE(units.contains("block.3")) << "and of the last";
}

TEST_F(PipelineState, BothEndsOfATiedEmbeddingAreCompared) {
  Rank rank(config_, *stream_, layout_of(2));
  for (int step = 1; step <= 3; ++step) train_step(rank.trainer, step);
  ShardedModel& model = rank.trainer.model();
  const auto difference = [&] {
    return find_replica_difference(model.all_parameters(), model.parameters(), model.master(), rank.mesh.shape(),
                                   *world_, *stream_, "here");
  };
  EXPECT_EQ(difference(), std::nullopt);
  if (rank.mesh.coordinates().pp == 1) model.master().data(0)[0] += 1e-3f;
  EXPECT_NE(difference().value_or("").find("tok_embeddings.weight"), std::string::npos) << difference().value_or("");
}

}  // namespace
}  // namespace octet
