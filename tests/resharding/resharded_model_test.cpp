// What eight ranks have saved, fewer load into real models, in any layout: every tensor to the bit, and training goes
// on within the rounding of fp32. For eight ranks.
#include <cmath>

#include "checkpoints/restore.h"
#include "checkpoints/saver.h"
#include "src/train/model_state.h"
#include "tests/equivalence/trainer_test.h"

namespace octet {
namespace {

constexpr int ranks = 8;
constexpr std::int64_t saved_step = 3, last_step = 6;

/// Every tensor whole, by kind and parameter.
using Tensors = std::vector<std::vector<float>>;

Tensors whole(ShardedModel& model, Mesh& mesh) {
  Tensors all;
  for (const ShardedBuffer* buffer : {&model.master(), &model.first_moment(), &model.second_moment()}) {
    for (std::size_t i = 0; i < buffer->layout().size(); ++i) {
      const Shard& shard = buffer->layout().shard(i);
      auto& tensor = all.emplace_back(static_cast<std::size_t>(shard.padded_elements() * mesh.dp_shard().size()));
      mesh.dp_shard().all_gather(buffer->data(i), tensor.data(), shard.padded_elements(), DType::f32);
      for (auto e = static_cast<std::size_t>(shard.global.elements()); e < tensor.size(); ++e) {
        EXPECT_EQ(tensor[e], 0) << "padding";
      }
      tensor.resize(static_cast<std::size_t>(shard.global.elements()));
    }
  }
  return all;
}

bool same_bits(const Tensors& a, const Tensors& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  });
}

class SavedByEight : public TrainerTest {
 protected:
  void SetUp() override {
    if (world_->size() != ranks) GTEST_SKIP() << "needs " << ranks << " ranks";
    config_.train.global_batch = 24;  // of any number of ranks that is tried
    config_.train.micro_batch = 1;
    Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_replicate = 1, .dp_shard = 0});
    Trainer trainer(config_, mesh, *stream_, nullptr);
    train(trainer, 1, saved_step);
    checkpoint::Saver saver({.root = root()}, mesh.world(), *stream_);
    saver.start({.step = saved_step, .seed = 1, .config = "a: 1\n", .layout = "", .program = "test"},
                held_pieces(trainer.model()));
    ASSERT_TRUE(saver.finish());
    saved_ = whole(trainer.model(), mesh);
    losses_ = train(trainer, saved_step + 1, last_step);
  }
  std::string root() const { return folder_ / "checkpoints"; }

  static std::vector<double> train(Trainer& trainer, std::int64_t first, std::int64_t last) {
    std::vector<double> losses;
    for (std::int64_t step = first; step <= last; ++step) {
      losses.push_back(trainer.train_step(step, [] { return Wishes{}; }).loss);
    }
    return losses;
  }

  /// On the ranks of `group`.
  void expect_goes_on(std::unique_ptr<Communicator> group, int replicas) {
    Mesh mesh(std::move(group), {.dp_replicate = replicas, .dp_shard = 0});
    Trainer trainer(config_, mesh, *stream_, nullptr);
    ASSERT_FALSE(same_bits(whole(trainer.model(), mesh), saved_));
    const auto found = checkpoint::find_newest_valid(root(), mesh.world(), *stream_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest.files.size(), static_cast<std::size_t>(ranks));
    load_state(trainer.model(), found->directory, found->manifest, *stream_);
    EXPECT_TRUE(same_bits(whole(trainer.model(), mesh), saved_));
    const std::vector<double> losses = train(trainer, saved_step + 1, last_step);
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], losses_[i], 1e-5 * losses_[i]) << i;
  }

  /// The first so many ranks of the program load it; the others wait.
  void expect_loaded_by(int loading, int replicas = 1) {
    SCOPED_TRACE(fmt::format("{} ranks, {} replicas", loading, replicas));
    const bool loads = world_->rank() < loading;
    std::unique_ptr<Communicator> group = world_->split(loads ? 0 : 1, world_->rank(), "loading");
    if (loads) expect_goes_on(std::move(group), replicas);
    world_->barrier();
  }

  Tensors saved_;
  std::vector<double> losses_;
};

TEST_F(SavedByEight, LoadedByOthers) {
  for (const int loading : {1, 2, 3, 4, 6}) expect_loaded_by(loading);
  expect_loaded_by(6, 2);
  expect_loaded_by(8, 4);
}

}  // namespace
}  // namespace octet
