// The optimizer's update beside the next forward pass: the same bits of every loss, norm and weight as without.
#include <cmath>
#include <limits>

#include "checkpoints/restore/restore.h"
#include "checkpoints/save/saver.h"
#include "src/ops/recipe.h"
#include "src/train/step/model_state.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class UpdatedBeside : public TrainerTest {
 protected:
  struct Outcome {
    std::vector<double> numbers;  ///< loss and norm of each step, and of validations
    std::vector<float> state;     ///< masters and moments of this rank
    std::vector<float> scales;    ///< of weights
    bool beside = false;
  };

  UpdatedBeside() {
    config_.model = {.name = "beside",
                     .dim = 32,
                     .layers = 2,
                     .heads = 2,
                     .kv_heads = 2,
                     .head_dim = 16,
                     .ffn_dim = 48,
                     .vocab_size = 64};
    config_.precision = Precision::float8;
    config_.float8.delayed_history = 3;
    config_.train.validation_batches = 1;
  }

  /// Six steps, with a validation behind the third and the fifth.
  Outcome run(AutoBool beside, const MeshShape& shape) {
    config_.optimizer.beside_forward = beside;
    Mesh mesh(make_mpi_communicator(*stream_, "world"), shape);
    Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
    Outcome out;
    for (std::int64_t step = 1; step <= 6; ++step) {
      const StepResult result = train_step(trainer, step);
      out.beside = out.beside || trainer.model().update_under_way();
      out.numbers.insert(out.numbers.end(), {result.loss, result.grad_norm});
      if (step == 3 || step == 5) out.numbers.push_back(trainer.validate());
    }
    take_state(out, trainer.model());
    return out;
  }

  static void take_state(Outcome& out, ShardedModel& model) {
    for (const ShardedBuffer* buffer : {&model.master(), &model.first_moment(), &model.second_moment()}) {
      out.state.insert(out.state.end(), buffer->all(), buffer->all() + buffer->layout().elements());
    }
    for (std::size_t i = 0; i < model.parameters().parameters.size(); ++i) {
      if (model.scales().scale(i) == nullptr) continue;
      out.scales.insert(out.scales.end(), {*model.scales().scale(i), *model.scales().inverse(i)});
    }
  }

  /// Runs both, and expects the update beside, or not, and the same of all else.
  void expect_same(const MeshShape& shape, bool beside = true) {
    const Outcome without = run(AutoBool::no, shape), with = run(AutoBool::yes, shape);
    EXPECT_EQ(with.numbers, without.numbers);
    EXPECT_EQ(with.state, without.state);
    EXPECT_EQ(with.scales, without.scales);
    EXPECT_NE(with.numbers[0], with.numbers[2]) << "it learns";
    EXPECT_FALSE(without.beside);
    EXPECT_EQ(with.beside, beside);
  }
  void use_blocks_of_128() {
    config_.model.dim = config_.model.ffn_dim = 128;
    config_.model.head_dim = 64;
    config_.train.seq_len = 128;
    config_.data.train = {{write_tokens("long", 6000), 1.0}};
  }
  std::string write_tokens(const std::string& name, std::int32_t count) const {
    if (world_->rank() == 0) {
      TokenFileWriter writer(folder_ / name, TokenType::u8);
      std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
      for (std::int32_t i = 0; i < count; ++i) ids[static_cast<std::size_t>(i)] = i * i % 47;
      writer.append(ids);
      writer.end_document();
      writer.finish();
    }
    world_->barrier();
    return folder_ / name;
  }

  const int ranks_ = world_->size();
  const MeshShape replicas_{.dp_replicate = ranks_, .dp_shard = 1}, shards_{.dp_shard = ranks_};
};

TEST_F(UpdatedBeside, HasTheSameBitsInOtherPrecisions) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(name_of(precision));
    config_.precision = precision;
    expect_same(replicas_);
    expect_same(shards_);
  }
}

TEST_F(UpdatedBeside, HasTheSameBitsInEachRecipe) {
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed"}) {
    SCOPED_TRACE(recipe);
    config_.float8.recipe = recipe;
    expect_same(replicas_);
    expect_same(shards_, ranks_ == 1 || std::string_view(recipe) != "tensorwise");
  }
  config_.float8.recipe = "blockwise";
  use_blocks_of_128();
  expect_same(replicas_);
  expect_same(shards_);
}

TEST_F(UpdatedBeside, HasTheSameBitsWithASharedEmbeddingRecomputedBlocksAndDocuments) {
  config_.model.tied_embedding = true;
  config_.recompute.mode = RecomputeMode::full;
  config_.data.train = {{write_documents(), 1.0}};
  config_.data.document_mask = true;
  expect_same(replicas_);
  config_.float8.recipe = "delayed";
  for (const Zero zero : {Zero::one, Zero::two, Zero::three}) {
    SCOPED_TRACE(name_of(zero));
    config_.parallel.zero = zero;
    config_.parallel.overlap = ranks_ > 1 ? AutoBool::yes : AutoBool::automatic;
    expect_same(shards_);
  }
}

TEST_F(UpdatedBeside, HasTheSameBitsWhereWeightsAreCastAfterTheGather) {
  config_.float8.all_gather = AutoBool::no;
  expect_same(replicas_);
  config_.parallel.one_rank_exchange = true;
  expect_same(replicas_);
}

TEST_F(UpdatedBeside, HasTheSameBitsInAPipelineAndWithTensorParallelism) {
  if (ranks_ % 2 != 0) GTEST_SKIP() << "needs an even number of ranks";
  config_.model.tied_embedding = true;
  config_.parallel.pp = 2;
  expect_same({.pp = 2, .dp_replicate = ranks_ / 2, .dp_shard = 1});
  config_.parallel.pp = 1;
  config_.parallel.tp = 2;
  config_.float8.recipe = "rowwise";
  expect_same({.dp_shard = ranks_ / 2, .tp = 2});
}

/// A norm that is not finite: nothing changes, then or later, and scales are those of the weights that stay.
TEST_F(UpdatedBeside, SkipsAStepAsWithout) {
  Outcome outcomes[2];
  for (const bool beside : {false, true}) {
    config_.optimizer.beside_forward = beside ? AutoBool::yes : AutoBool::no;
    Mesh mesh(make_mpi_communicator(*stream_, "world"), replicas_);
    Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
    ASSERT_FALSE(train_step(trainer, 1).skipped);
    ShardedModel& model = trainer.model();
    Outcome& out = outcomes[beside ? 1 : 0];
    float& weight = model.master().data(model.parameters().range(embedding_unit).first)[0];
    const float was = weight;
    weight = std::numeric_limits<float>::infinity();
    model.weights_changed();
    EXPECT_TRUE(train_step(trainer, 2).skipped);
    EXPECT_EQ(model.update_under_way(), beside);
    model.master();
    weight = was;
    take_state(out, model);
    EXPECT_TRUE(train_step(trainer, 3).skipped) << "the flag stays";
  }
  EXPECT_EQ(outcomes[1].state, outcomes[0].state);
  EXPECT_EQ(outcomes[1].scales, outcomes[0].scales);
}

/// A checkpoint of a step whose update was under way holds what it leaves; a run goes on from it without, and with.
TEST_F(UpdatedBeside, IsInCheckpointsAndGoesOnFromThem) {
  config_.float8.recipe = "delayed";
  const Outcome whole = run(AutoBool::no, shards_);
  for (const AutoBool then : {AutoBool::no, AutoBool::yes}) {
    const std::string root = folder_ / fmt::format("checkpoints-{}", then);
    Mesh mesh(make_mpi_communicator(*stream_, "world"), shards_);
    config_.optimizer.beside_forward = AutoBool::yes;
    {
      Trainer first(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
      for (std::int64_t step = 1; step <= 3; ++step) train_step(first, step);
      EXPECT_TRUE(first.model().update_under_way());
      checkpoint::Saver saver({.root = root}, mesh.world(), *stream_);
      const std::vector<checkpoint::DevicePiece> pieces = held_pieces(first.model());
      EXPECT_FALSE(first.model().update_under_way());
      saver.start({.step = 3, .seed = 1, .config = "a: 1\n", .layout = "", .program = "test"}, pieces);
      EXPECT_TRUE(saver.finish());
    }
    const auto found = checkpoint::find_newest_valid(root, mesh.world());
    ASSERT_TRUE(found);
    config_.optimizer.beside_forward = then;
    Trainer second(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
    load_state(second.model(), found->directory, found->manifest, *stream_);
    Outcome out;
    for (std::int64_t step = 4; step <= 6; ++step) train_step(second, step);
    take_state(out, second.model());
    EXPECT_EQ(out.state, whole.state);
    EXPECT_EQ(out.scales, whole.scales);
  }
}

}  // namespace
}  // namespace octet
