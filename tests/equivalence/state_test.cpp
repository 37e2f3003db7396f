// What a checkpoint takes from a sharded model and gives to one of another layout.
#include <algorithm>
#include <filesystem>

#include "checkpoints/restore/restore.h"
#include "checkpoints/save/saver.h"
#include "src/train/step/model_state.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/equivalence/written_once.h"
#include "tests/support/error_of.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

using checkpoint::RunState;

class State : public TrainerTest {
 protected:
  /// A trainer with the mesh of so many replicas.
  struct Rank {
    Rank(const RunConfig& config, Stream& stream, int replicas)
        : mesh(make_mpi_communicator(stream, "world"), {.dp_replicate = replicas, .dp_shard = 0}),
          trainer(config, test::sampler_of(config), mesh, mesh.world(), stream, nullptr) {}
    Mesh mesh;
    Trainer trainer;
  };

  /// The whole of every parameter of one kind.
  static std::vector<std::vector<float>> whole(const ShardedBuffer& buffer, const ParameterList& list, Mesh& mesh) {
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < list.parameters.size(); ++i) {
      const Shard& shard = buffer.layout().shard(i);
      all.emplace_back(static_cast<std::size_t>(shard.padded_elements() * mesh.fsdp().size()));
      mesh.fsdp().all_gather(buffer.data(i), all.back().data(), shard.padded_elements(), DType::f32);
      for (auto e = static_cast<std::size_t>(shard.global.elements()); e < all.back().size(); ++e) {
        EXPECT_EQ(all.back()[e], 0) << "padding";
      }
      all.back().resize(static_cast<std::size_t>(shard.global.elements()));
    }
    return all;
  }

  static void expect_equal(Rank& a, Rank& b) {
    ShardedModel &x = a.trainer.model(), &y = b.trainer.model();
    EXPECT_TRUE(whole(x.master(), x.parameters(), a.mesh) == whole(y.master(), y.parameters(), b.mesh));
    EXPECT_TRUE(whole(x.first_moment(), x.parameters(), a.mesh) == whole(y.first_moment(), y.parameters(), b.mesh));
    EXPECT_TRUE(whole(x.second_moment(), x.parameters(), a.mesh) == whole(y.second_moment(), y.parameters(), b.mesh));
  }

  std::string root() const { return folder_ / "checkpoints"; }

  checkpoint::Found save(Rank& rank, std::int64_t step) {
    checkpoint::Saver saver({.root = root()}, rank.mesh.world(), *stream_);
    saver.start({.step = step, .seed = 1, .config = "a: 1\n", .layout = "", .program = "test"},
                held_pieces(rank.trainer.model()));
    EXPECT_TRUE(saver.finish());
    auto found = checkpoint::find_newest_valid(root(), rank.mesh.world());
    if (!found) throw internal_error("tests", "nothing saved");
    return *found;
  }
};

TEST_F(State, IsTheSameInEveryLayout) {
  config_.train.micro_batch = 1;
  Rank first(config_, *stream_, 1);
  for (int step = 1; step <= 3; ++step) train_step(first.trainer, step);
  const checkpoint::Found found = save(first, 3);
  EXPECT_EQ(found.manifest.tensors.size(), 3 * first.trainer.model().parameters().parameters.size());
  for (int replicas = 1; replicas <= world_->size(); ++replicas) {
    if (world_->size() % replicas != 0) continue;
    SCOPED_TRACE(replicas);
    Rank second(config_, *stream_, replicas);
    load_state(second.trainer.model(), found.directory, found.manifest, *stream_);
    expect_equal(first, second);
    // And it goes on: the weight scales and the gathered weights follow.
    if (replicas == 1) {
      const StepResult a = train_step(first.trainer, 4), b = train_step(second.trainer, 4);
      EXPECT_EQ(a.loss, b.loss);
      EXPECT_EQ(a.grad_norm, b.grad_norm);
      expect_equal(first, second);
      load_state(first.trainer.model(), found.directory, found.manifest, *stream_);  // back to step 3
    }
  }
}

TEST_F(State, ReplicasWriteEveryPieceOnce) {
  Rank rank(config_, *stream_, world_->size());
  test::expect_written_once(save(rank, 1));
}

/// Recipe delayed remembers: its history goes with the weights, whole and once, into every layout.
class DelayedState : public State {
 protected:
  DelayedState() {
    config_.model = {.name = "even",
                     .dim = 32,
                     .layers = 2,
                     .heads = 2,
                     .kv_heads = 2,
                     .head_dim = 16,
                     .ffn_dim = 64,
                     .vocab_size = 64};
    config_.precision = Precision::float8;
    config_.float8.recipe = "delayed";
    config_.float8.delayed_history = 3;
    config_.train.micro_batch = 1;
  }

  static std::vector<float> memory(Rank& rank) {
    std::vector<float> all;
    for (const Float8Scaling::State& s : rank.trainer.model().scaling().state()) {
      for (std::int64_t i = 0; i < s.tensor.elements(); ++i) {
        all.push_back(s.tensor.dtype == DType::f32 ? s.tensor.as<float>()[i]
                                                   : static_cast<float>(s.tensor.as<std::int32_t>()[i]));
      }
    }
    return all;
  }
};

TEST_F(DelayedState, GoesOnToTheBitInEveryLayout) {
  Rank first(config_, *stream_, 1);
  for (int step = 1; step <= 4; ++step) train_step(first.trainer, step);
  const checkpoint::Found found = save(first, 4);
  EXPECT_EQ(found.manifest.tensors.size(), 3 * first.trainer.model().parameters().parameters.size() + 3);
  const auto pieces = std::ranges::count_if(found.manifest.pieces, [&](const auto& piece) {
    return found.manifest.tensors[static_cast<std::size_t>(piece.tensor)].name.starts_with("float8/");
  });
  EXPECT_EQ(pieces, 3);
  const std::vector<float> saved = memory(first);
  EXPECT_EQ(saved.back(), 4.0f);  // steps
  for (int replicas = 1; replicas <= world_->size(); ++replicas) {
    if (world_->size() % replicas != 0) continue;
    SCOPED_TRACE(replicas);
    Rank second(config_, *stream_, replicas);
    load_state(second.trainer.model(), found.directory, found.manifest, *stream_);
    EXPECT_EQ(memory(second), saved);
    if (replicas > 1) continue;
    for (int step = 5; step <= 6; ++step) {
      const StepResult a = train_step(first.trainer, step), b = train_step(second.trainer, step);
      EXPECT_EQ(a.loss, b.loss);
      EXPECT_EQ(a.grad_norm, b.grad_norm);
    }
    expect_equal(first, second);
    EXPECT_EQ(memory(first), memory(second));
    // Without its history it would be another training.
    load_state(first.trainer.model(), found.directory, found.manifest, *stream_);
    load_state(second.trainer.model(), found.directory, found.manifest, *stream_, false);
    EXPECT_EQ(memory(first), saved);
    EXPECT_NE(memory(second), saved);
    EXPECT_NE(train_step(first.trainer, 5).loss, train_step(second.trainer, 5).loss);
  }
}

TEST_F(DelayedState, OtherRecipesBeginAnewOrAreRefused) {
  RunConfig dynamic = config_, longer = config_;
  dynamic.float8 = {};
  longer.float8.delayed_history = 5;
  Rank delayed(config_, *stream_, 1);
  train_step(delayed.trainer, 1);
  const checkpoint::Found found = save(delayed, 1);
  Rank other(dynamic, *stream_, 1), long_one(longer, *stream_, 1);
  EXPECT_THROW(load_state(other.trainer.model(), found.directory, found.manifest, *stream_), Error);
  EXPECT_THROW(load_state(long_one.trainer.model(), found.directory, found.manifest, *stream_), Error);
  load_state(other.trainer.model(), found.directory, found.manifest, *stream_, false);
  load_state(long_one.trainer.model(), found.directory, found.manifest, *stream_, false);
  EXPECT_FALSE(long_one.trainer.model().scaling().known());
  // A checkpoint of a recipe without memory has none to give.
  const checkpoint::Found without = save(other, 2);
  load_state(delayed.trainer.model(), without.directory, without.manifest, *stream_);
  EXPECT_FALSE(delayed.trainer.model().scaling().known());
}

TEST_F(State, AnotherModelIsRefusedByTensor) {
  Rank rank(config_, *stream_, 1);
  const checkpoint::Found found = save(rank, 1);
  const auto message = [&](const RunConfig& config) -> std::string {
    Rank other(config, *stream_, 1);
    return test::error_of([&] { load_state(other.trainer.model(), found.directory, found.manifest, *stream_); });
  };
  RunConfig wider = config_, deeper = config_, shallower = config_;
  wider.model.ffn_dim += 1;
  EXPECT_NE(message(wider).find("master/layers.0.feed_forward.w1.weight is f32 [27, 20], expected f32 [28, 20]"),
            std::string::npos)
      << message(wider);
  deeper.model.layers = 3;
  EXPECT_NE(message(deeper).find("has no tensor master/layers.2."), std::string::npos) << message(deeper);
  shallower.model.layers = 1;
  EXPECT_NE(message(shallower).find("holds first_moment/layers.1."), std::string::npos) << message(shallower);
}

}  // namespace
}  // namespace octet
