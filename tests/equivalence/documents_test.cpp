// Training within documents: the same on every layout, and what counts is what is said to count.
#include <cmath>

#include "src/data/window_documents.h"
#include "src/train/step/run_settings.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class Documents : public TrainerTest {
 protected:
  Documents() {
    config_.data.train = {{write_documents(), 1.0}};
    config_.data.document_mask = true;
    // Everything divides by 2, for tensor parallelism, fp8 included.
    config_.model = {.name = "even",
                     .dim = 32,
                     .layers = 2,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 16,
                     .ffn_dim = 64,
                     .vocab_size = 64};
  }

  struct Trained {
    std::vector<double> losses, norms;
    double validation = 0;
  };
  Trained train(std::unique_ptr<Communicator> all, const MeshShape& shape, Communicator& control) {
    config_.parallel.tp = shape.tp;
    Mesh mesh(std::move(all), shape);
    Trainer trainer(config_, test::sampler_of(config_), mesh, control, *stream_, nullptr);
    Trained run;
    for (std::int64_t step = 1; step <= 15; ++step) {
      const StepResult result = train_step(trainer, step);
      run.losses.push_back(result.loss);
      run.norms.push_back(result.grad_norm);
    }
    run.validation = trainer.validate();
    return run;
  }
  /// By each rank for itself.
  Trained train_alone() {
    const auto control = make_self_communicator(*stream_, "control");
    return train(make_self_communicator(*stream_, "world"), {.dp_shard = 1}, *control);
  }
  void expect_the_same_on_every_layout(double of_losses, double of_norms) {
    const Trained expected = train_alone();
    for (const int tp : {1, 2}) {
      for (const int replicas : {1, 2}) {
        if (world_->size() % (tp * replicas) != 0 || batch % (world_->size() / tp) != 0) continue;
        SCOPED_TRACE(fmt::format("tp {}, {} replicas", tp, replicas));
        const Trained run = train(make_mpi_communicator(*stream_, "world"),
                                  {.dp_replicate = replicas, .dp_shard = 0, .tp = tp}, *world_);
        for (std::size_t i = 0; i < run.losses.size(); ++i) {
          EXPECT_NEAR(run.losses[i], expected.losses[i], of_losses * expected.losses[i]) << "step " << i + 1;
          EXPECT_NEAR(run.norms[i], expected.norms[i], of_norms * expected.norms[i]) << "step " << i + 1;
        }
        EXPECT_NEAR(run.validation, expected.validation, of_losses * expected.validation);
      }
    }
  }
};

TEST_F(Documents, TrainTheSameOnEveryLayout) {
  for (const bool on_first : {true, false}) {
    config_.data.loss_on_first = on_first;
    expect_the_same_on_every_layout(2e-5, 1e-4);
  }
}

TEST_F(Documents, TrainTheSameOnEveryLayoutInLowPrecision) {
  for (const Precision precision : {Precision::bf16, Precision::float8}) {
    SCOPED_TRACE(name_of(precision));
    config_.precision = precision;
    expect_the_same_on_every_layout(1e-3, 5e-2);  // as tests/equivalence/tensor_parallel_test.cpp
  }
}

TEST_F(Documents, TrainTheSameOnEveryLayoutInEveryRecipe) {
  config_.precision = Precision::float8;
  for (const char* recipe : {"rowwise", "rowwise_with_gw_hp", "delayed"}) {  // tensorwise above, blockwise is wider
    SCOPED_TRACE(recipe);
    config_.float8.recipe = recipe;
    expect_the_same_on_every_layout(1e-3, 5e-2);
  }
}

/// The kernels without a mask are the faster ones.
TEST_F(Documents, ThatFillTheirWindowsAreNotListed) {
  const BatchLayout layout{0, 1, batch};
  Batch used;
  Sampler(config_.data.train, sampler_config(config_)).train_batch(0, layout, 0, used);
  EXPECT_EQ(used.document_begin.size(), used.tokens.size());
  const Sampler whole({{folder_ / "data", 1.0}}, sampler_config(config_));
  whole.train_batch(0, layout, 0, used);
  EXPECT_TRUE(used.document_begin.empty());
  whole.validation_batch(0, layout, 0, used);
  EXPECT_TRUE(used.document_begin.empty());
  EXPECT_EQ(whole.step_work(0).pairs_of_tokens, batch * seq * seq);
}

TEST_F(Documents, ChangeWhatIsTrained) {
  const Trained within = train_alone();
  config_.data.document_mask = false;
  const Trained across = train_alone();
  EXPECT_GT(std::abs(within.losses[0] - across.losses[0]), 1e-6);
}

TEST_F(Documents, LeaveOutTheirFirstTokensWhereTheseDoNotCount) {
  config_.data.loss_on_first = false;
  const auto control = make_self_communicator(*stream_, "control");
  Mesh mesh(make_self_communicator(*stream_, "world"), {.dp_shard = 1});
  Trainer trainer(config_, test::sampler_of(config_), mesh, *control, *stream_, nullptr);
  const Sampler& sampler = trainer.sampler();
  Batch step;
  sampler.train_batch(3, {0, 1, batch}, 0, step);
  std::int64_t counted = 0, squares = 0;
  for (std::int64_t row = 0; row < batch; ++row) {
    const auto first = step.document_begin.begin() + row * seq;
    squares += sum_of_squares({first, first + seq});
    for (std::int64_t i = 0; i < seq; ++i) {
      const bool counts = step.targets[static_cast<std::size_t>(row * seq + i)] >= 0;
      counted += counts;
      // The last target of a row is beyond it.
      if (i + 1 == seq) continue;
      EXPECT_EQ(counts, *(first + i + 1) != i + 1) << row << ", " << i;
    }
  }
  EXPECT_LT(counted, batch * seq);
  EXPECT_EQ(sampler.step_work(3).targets, counted);
  EXPECT_EQ(sampler.step_work(3).pairs_of_tokens, squares);
  std::int64_t validation = 0;
  for (std::int64_t b = 0; b < sampler.validation_batches(); ++b) {
    sampler.validation_batch(b, {0, 1, batch}, 0, step);
    validation += std::ranges::count_if(step.targets, [](std::int32_t t) { return t >= 0; });
  }
  EXPECT_EQ(sampler.validation_targets(sampler.validation_batches()), validation);
}

}  // namespace
}  // namespace octet
