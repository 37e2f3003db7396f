// Ranks that hold the same weights, replicas and those of a tp group, compare them while they train, and the run ends
// by name when they differ.
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoints/restore/restore.h"
#include "src/comm/trace.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/unlike_sums.h"
#include "tests/train_ranks/loop_run.h"

namespace octet {
namespace {

constexpr const char* of_replicas = "layers.1.feed_forward.w2.weight";  // tp cuts it
constexpr const char* of_all = "layers.1.ffn_norm.weight";              // and not this

class Replicas : public TrainerTest {
 protected:
  struct Ended {  // NOLINT(bugprone-exception-escape): moving JSON throws nothing
    int code = -1;
    std::int64_t done = 0;
    nlohmann::json status;
    std::string err;               ///< of this rank
    std::int64_t comparisons = 0;  ///< each is two all-gathers over `control`; a step has no others there
  };

  void SetUp() override {
    if (world_->size() % 2 != 0) GTEST_SKIP() << "needs an even number of ranks";
    config_.train.steps = 5;
    config_.parallel.check_replicas_every = 2;
    config_.checkpoint.interval = "off";
  }

  /// A run of the loop, on every rank. The last rank changes one of its weights, of `corrupted` if any, before the
  /// first step.
  Ended run(int replicas, const char* corrupted = nullptr) {
    CommTrace trace;
    const auto control = make_traced(make_mpi_communicator(*stream_, "control"), &trace);
    std::unique_ptr<Communicator> world = make_mpi_communicator(*stream_, "world");
    if (unlike_sums_) world = std::make_unique<test::UnlikeSums>(std::move(world), world_->rank());
    Mesh mesh(std::move(world), {.pp = static_cast<int>(config_.parallel.pp),
                                 .dp_replicate = replicas,
                                 .dp_shard = 0,
                                 .tp = static_cast<int>(config_.parallel.tp)});
    config_.run_dir = folder_ / fmt::format("run-{}", runs_++);
    LoopRun loop(config_, mesh, *control, *stream_, fmt::format("node-{}", world_->rank()));
    ShardedModel& model = loop.trainer.model();
    if (corrupted != nullptr && world_->rank() == world_->size() - 1) change_a_weight(model, corrupted);
    model.weights_changed();
    Ended ended;
    testing::internal::CaptureStderr();
    ended.code = loop.train();
    ended.done = loop.failure.done();
    ended.err = testing::internal::GetCapturedStderr();
    world_->barrier();  // rank 0 has written the status
    ended.status = nlohmann::json::parse(std::ifstream(loop.directory.status()));
    ended.comparisons = trace.calls("all_gather", "control") / 2;
    return ended;
  }

  static void change_a_weight(ShardedModel& model, const std::string& name) {
    const auto& list = model.parameters().parameters;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].name != name) continue;
      ASSERT_GT(model.master().layout().shard(i).elements(), 0);
      model.master().data(i)[0] += 0.25f;
    }
  }

  /// Every rank has the code, rank 0 alone the message, which is also in the status.
  void expect_named(const Ended& ended, const std::string& who, const char* corrupted = of_replicas) {
    EXPECT_EQ(ended.code, 76);
    EXPECT_EQ(ended.done, 2);
    const std::string message = fmt::format(
        "fp32 master weights that ranks have in common differ after step 2 (docs/problems.md, \"Ranks differ\"): "
        "{}; the first parameter that differs is {}",
        who, corrupted);
    EXPECT_EQ(ended.err.find(message) != std::string::npos, world_->rank() == 0) << ended.err;
    EXPECT_EQ(ended.status["state"], "failed");
    EXPECT_EQ(ended.status["exit_code"], 76);
    EXPECT_EQ(ended.status["step"], 2);
    EXPECT_EQ(ended.status["reason"], message);
  }

  void set_tp(int tp) {
    config_.parallel.tp = tp;
    config_.model.heads = 4;
    config_.model.kv_heads = 2;
    config_.model.ffn_dim = 28;
  }

  bool unlike_sums_ = false;  ///< of the groups of the mesh

 private:
  int runs_ = 0;
};

TEST_F(Replicas, IntactOnesAreComparedAndGoOn) {
  const Ended ended = run(2);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.done, 5);
  EXPECT_EQ(ended.status["state"], "finished");
  EXPECT_EQ(ended.comparisons, 2);  // after steps 2 and 4
}

/// Groups whose sums have other last bits, as NCCL's may, leave all copies alike: the norm by which gradients are
/// clipped, the gradients of what tp does not cut, and those of a tied embedding.
TEST_F(Replicas, StayTheSameWhereGroupsSumInAnotherOrder) {
  unlike_sums_ = true;
  config_.parallel.check_replicas_every = 1;
  config_.optimizer.clip_norm = 1e-3;
  const auto expect_intact = [&](int replicas) {
    const Ended ended = run(replicas);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.done, 5);
    EXPECT_GT(ended.comparisons, 0);
  };
  expect_intact(2);
  set_tp(2);
  expect_intact(world_->size() == 2 ? 1 : 2);
  config_.model.tied_embedding = true;
  config_.parallel.tp = 1;
  config_.parallel.pp = 2;
  config_.parallel.zero = Zero::two;
  config_.train.micro_batch = 3;
  config_.checkpoint.interval = "2";
  expect_intact(world_->size() == 2 ? 1 : 2);
}

TEST_F(Replicas, ACorruptedWeightEndsTheRunByName) {
  const int last = world_->size() - 1, peer = last - world_->size() / 2;
  expect_named(run(2, of_replicas),
               fmt::format("rank {} on node-{}, rank {} on node-{} against each other, with no majority", peer, peer,
                           last, last));
}

TEST_F(Replicas, TheMajorityIsRight) {
  if (world_->size() < 4) GTEST_SKIP() << "needs four ranks";
  const int last = world_->size() - 1;
  expect_named(run(world_->size(), of_replicas), fmt::format("rank {} on node-{} against the majority", last, last));
}

TEST_F(Replicas, ATpGroupComparesWhatItDoesNotCut) {
  set_tp(2);
  const Ended intact = run(1);
  EXPECT_EQ(intact.code, 0);
  EXPECT_EQ(intact.done, 5);
  EXPECT_EQ(intact.comparisons, 2);
  const int last = world_->size() - 1;
  expect_named(run(1, of_all),
               fmt::format("rank {} on node-{}, rank {} on node-{} against each other, with no majority", last - 1,
                           last - 1, last, last),
               of_all);
}

TEST_F(Replicas, TpGroupsOfReplicasHaveAMajority) {
  if (world_->size() % 4 != 0) GTEST_SKIP() << "needs a multiple of four ranks";
  set_tp(2);
  const int last = world_->size() - 1;
  expect_named(run(2, of_all), fmt::format("rank {} on node-{} against the majority", last, last), of_all);
}

/// A piece that replicas share is saved once, which would hide that they differ.
TEST_F(Replicas, NoCheckpointIsTakenOfThoseThatDiffer) {
  config_.parallel.check_replicas_every = 100;
  config_.checkpoint.interval = "3";
  const Ended bad = run(2, of_replicas);
  EXPECT_EQ(bad.code, 76);
  EXPECT_EQ(bad.done, 3);
  EXPECT_TRUE(checkpoint::list_checkpoints(config_.run_dir + "/checkpoints").empty());
  const Ended good = run(2);
  EXPECT_EQ(good.code, 0);
  world_->barrier();
  EXPECT_EQ(checkpoint::list_checkpoints(config_.run_dir + "/checkpoints").size(), 2u);  // of steps 3 and 5
  world_->barrier();
}

/// The ends of a pipeline have a copy each, which every checkpoint takes for one.
TEST_F(Replicas, ATiedEmbeddingIsComparedBeforeEachCheckpoint) {
  config_.model.tied_embedding = true;
  config_.parallel.pp = 2;
  config_.parallel.zero = Zero::two;
  config_.train.micro_batch = 3;
  config_.parallel.check_replicas_every = 0;
  const Ended none = run(1, "tok_embeddings.weight");
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.comparisons, 0) << "without checkpoints nothing is taken for one";
  config_.checkpoint.interval = "2";
  const Ended intact = run(1);
  EXPECT_EQ(intact.code, 0);
  EXPECT_EQ(intact.done, 5);
  const int last = world_->size() - 1, peer = last - world_->size() / 2;
  expect_named(run(1, "tok_embeddings.weight"),
               fmt::format("rank {} on node-{}, rank {} on node-{} against each other, with no majority", peer, peer,
                           last, last),
               "tok_embeddings.weight");
}

TEST_F(Replicas, NobodyComparesWhenOffOrAlone) {
  config_.parallel.check_replicas_every = 0;
  const Ended off = run(2, of_replicas);
  EXPECT_EQ(off.code, 0);
  EXPECT_EQ(off.comparisons, 0);
  config_.parallel.check_replicas_every = 2;
  const Ended alone = run(1);
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.comparisons, 0);
}

}  // namespace
}  // namespace octet
