// What a run takes over from a checkpoint of other settings.
#include "src/train/start/resume.h"

#include "src/train/run/checkpointing.h"
#include "src/train/start/run_directory.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class ResumeTest : public TrainerTest {
 protected:
  ResumeTest()
      : mesh_(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0}),
        context_{.mesh = mesh_,
                 .control = *world_,
                 .stream = *stream_,
                 .traces = {},
                 .ranks_on_node = 1,
                 .node = "node",
                 .resolved_yaml = ""},
        directory_{.path = folder_ / "run"} {
    config_.model = {.name = "small",
                     .dim = 32,
                     .layers = 2,
                     .heads = 2,
                     .kv_heads = 1,
                     .head_dim = 16,
                     .ffn_dim = 64,
                     .vocab_size = 64};
    config_.precision = Precision::float8;
    config_.float8.recipe = "delayed";
    config_.float8.delayed_history = 2;
    config_.checkpoint.interval = "100";
    config_.run_dir = directory_.path;
  }
  /// Two steps and a checkpoint.
  void train() {
    write_run_directory(directory_, "", {}, *world_);
    Trainer trainer(config_, test::sampler_of(config_), mesh_, *world_, *stream_, nullptr);
    for (const std::int64_t step : {1, 2}) train_step(trainer, step);
    RunLog log(config_, context_, directory_);
    log.begin();
    Checkpointing(config_, context_, trainer, log, {}).finish(2, 2.0);
    directory_.resumes = true;
  }

  Mesh mesh_;
  RankContext context_;
  RunDirectory directory_;
};

TEST_F(ResumeTest, AbsMaxesAreTakenOverWhereTheyMeanTheSame) {
  train();
  const auto knows = [&](const std::string& key, auto&& change) {
    SCOPED_TRACE(key);
    RunConfig now = config_;
    change(now);
    now.checkpoint.allow_changes = {key};
    Trainer trainer(now, test::sampler_of(now), mesh_, *world_, *stream_, nullptr);
    EXPECT_EQ(resume(now, context_, directory_, trainer).step, 2);
    return trainer.model().scaling().known();
  };
  EXPECT_TRUE(knows("float8.delayed_margin", [](RunConfig&) {}));
  EXPECT_TRUE(knows("float8.delayed_margin", [](RunConfig& c) { c.float8.delayed_margin = 1; }));
  EXPECT_FALSE(knows("float8.delayed_history", [](RunConfig& c) { c.float8.delayed_history = 3; }));
  EXPECT_FALSE(knows("float8.bf16_first_layers", [](RunConfig& c) { c.float8.bf16_first_layers = 1; }));
  EXPECT_FALSE(knows("float8.recipe", [](RunConfig& c) { c.float8.recipe = "tensorwise"; }));
  EXPECT_FALSE(knows("precision", [](RunConfig& c) { c.precision = Precision::bf16; }));
}

}  // namespace
}  // namespace octet
