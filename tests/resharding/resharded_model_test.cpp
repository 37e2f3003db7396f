// What eight ranks have saved, with and without tensor parallelism, others load into real models, in any layout: every
// tensor to the bit, and training goes on within the rounding of fp32. For eight ranks.
#include <cmath>
#include <cstring>
#include <map>

#include "checkpoints/restore/restore.h"
#include "checkpoints/save/saver.h"
#include "src/train/step/model_state.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/global_element.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

constexpr int all_ranks = 8;
constexpr std::int64_t saved_step = 3, last_step = 6;

/// The rest of the ranks is dp_shard.
struct RankLayout {
  int ranks = all_ranks;
  int replicas = 1;
  int tp = 1;
};

/// Every tensor whole, by kind and parameter.
using Tensors = std::map<std::string, std::vector<float>>;

/// What the cut leaves of a parameter, from the ranks of dp_shard.
std::vector<float> whole_cut(const ShardedBuffer& buffer, std::size_t i, Mesh& mesh) {
  const Shard& shard = buffer.layout().shard(i);
  std::vector<float> cut(static_cast<std::size_t>(shard.padded_elements() * mesh.fsdp().size()));
  mesh.fsdp().all_gather(buffer.data(i), cut.data(), shard.padded_elements(), DType::f32);
  for (auto e = static_cast<std::size_t>(shard.cut.elements()); e < cut.size(); ++e) EXPECT_EQ(cut[e], 0) << "padding";
  cut.resize(static_cast<std::size_t>(shard.cut.elements()));
  return cut;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// All of a parameter, from the ranks of dp_shard and tp; those of tp agree on what is not cut.
std::vector<float> whole(const ShardedBuffer& buffer, std::size_t i, const ParameterSpec& p, Mesh& mesh) {
  const std::vector<float> mine = whole_cut(buffer, i, mesh);
  const std::size_t n = mine.size();
  const int parts = mesh.tp().size();
  std::vector<float> all(n * static_cast<std::size_t>(parts));
  mesh.tp().all_gather(mine.data(), all.data(), static_cast<std::int64_t>(n), DType::f32);
  std::vector<float> tensor(static_cast<std::size_t>(p.global.elements()), NAN);
  for (int part = 0; part < parts; ++part) {
    const auto theirs = std::span(all).subspan(static_cast<std::size_t>(part) * n, n);
    EXPECT_TRUE(!p.cut.replicated() || same_bits(theirs, mine)) << p.name << " of tp rank " << part;
    const Shard place = Shard::of(p.global, {p.cut.dim, {part, parts}}, 0, 1);
    for (std::size_t e = 0; e < n; ++e) {
      tensor[static_cast<std::size_t>(test::global_element(place, static_cast<std::int64_t>(e)))] = theirs[e];
    }
  }
  return tensor;
}

Tensors whole(ShardedModel& model, Mesh& mesh) {
  Tensors all;
  const auto& list = model.parameters().parameters;
  const auto gather = [&](const char* kind, const ShardedBuffer& buffer) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      all[fmt::format("{}/{}", kind, list[i].name)] = whole(buffer, i, list[i], mesh);
    }
  };
  gather("master", model.master());
  gather("first_moment", model.first_moment());
  gather("second_moment", model.second_moment());
  return all;
}

class SavedByEight : public TrainerTest {
 protected:
  void SetUp() override {
    if (world_->size() != all_ranks) GTEST_SKIP() << "needs " << all_ranks << " ranks";
    config_.train.global_batch = 24;  // of any number of ranks that is tried
    config_.train.micro_batch = 1;
  }
  std::string root() const { return folder_ / "checkpoints"; }

  static std::vector<double> train(Trainer& trainer, std::int64_t first, std::int64_t last) {
    std::vector<double> losses;
    for (std::int64_t step = first; step <= last; ++step) {
      losses.push_back(train_step(trainer, step).loss);
    }
    return losses;
  }

  Mesh mesh_of(std::unique_ptr<Communicator> group, const RankLayout& layout) {
    config_.parallel.tp = layout.tp;
    return Mesh(std::move(group), {.dp_replicate = layout.replicas, .dp_shard = 0, .tp = layout.tp});
  }

  /// Trains, saves, and goes on in that layout of all ranks.
  void save(const RankLayout& layout) {
    Mesh mesh = mesh_of(make_mpi_communicator(*stream_, "world"), layout);
    Trainer trainer(config_, test::sampler_of(config_), mesh, mesh.world(), *stream_, nullptr);
    train(trainer, 1, saved_step);
    checkpoint::Saver saver({.root = root()}, mesh.world(), *stream_);
    saver.start({.step = saved_step, .seed = 1, .config = "a: 1\n", .layout = "", .program = "test"},
                held_pieces(trainer.model()));
    ASSERT_TRUE(saver.finish());
    saved_ = whole(trainer.model(), mesh);
    losses_ = train(trainer, saved_step + 1, last_step);
  }

  void expect_saved(ShardedModel& model, Mesh& mesh) const {
    const Tensors found = whole(model, mesh);
    ASSERT_EQ(found.size(), saved_.size());
    for (const auto& [name, tensor] : found) EXPECT_TRUE(same_bits(tensor, saved_.at(name))) << name;
  }

  /// On the ranks of `group`.
  void expect_goes_on(std::unique_ptr<Communicator> group, const RankLayout& layout) {
    Mesh mesh = mesh_of(std::move(group), layout);
    Trainer trainer(config_, test::sampler_of(config_), mesh, mesh.world(), *stream_, nullptr);
    for (const auto& [name, tensor] : whole(trainer.model(), mesh)) {
      ASSERT_FALSE(same_bits(tensor, saved_.at(name))) << name << " would prove nothing";
    }
    const auto found = checkpoint::find_newest_valid(root(), mesh.world());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest.files.size(), static_cast<std::size_t>(all_ranks));
    load_state(trainer.model(), found->directory, found->manifest, *stream_);
    expect_saved(trainer.model(), mesh);
    const std::vector<double> losses = train(trainer, saved_step + 1, last_step);
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], losses_[i], 1e-5 * losses_[i]) << i;
  }

  /// The first so many ranks of the program load it; the others wait.
  void expect_loaded_by(const RankLayout& layout) {
    SCOPED_TRACE(fmt::format("{} ranks, {} replicas, tp {}", layout.ranks, layout.replicas, layout.tp));
    const bool loads = world_->rank() < layout.ranks;
    std::unique_ptr<Communicator> group = world_->split(loads ? 0 : 1, world_->rank(), "loading");
    if (loads) expect_goes_on(std::move(group), layout);
    world_->barrier();
  }

  /// Divides by 4; pieces of tp 2 on 3 or 4 shards, and of tp 4 on 2, are padded.
  void set_divisible_model() {
    config_.model.dim = 18;
    config_.model.heads = 8;
    config_.model.kv_heads = 4;
    config_.model.ffn_dim = 28;
    config_.model.vocab_size = 52;
  }

  Tensors saved_;
  std::vector<double> losses_;
};

TEST_F(SavedByEight, LoadedByOthers) {
  save({});
  for (const int loading : {1, 2, 3, 4, 6}) expect_loaded_by({.ranks = loading});
  expect_loaded_by({.ranks = 6, .replicas = 2});
  expect_loaded_by({.ranks = 8, .replicas = 4});
}

TEST_F(SavedByEight, WithTensorParallelismLoadedByOthers) {
  set_divisible_model();
  save({.tp = 2});
  expect_loaded_by({.tp = 4});
  expect_loaded_by({.ranks = 4, .tp = 4});
  expect_loaded_by({.ranks = 6, .tp = 2});
  expect_loaded_by({.replicas = 2, .tp = 2});
  for (const int loading : {1, 3, 8}) expect_loaded_by({.ranks = loading});
  expect_loaded_by({.ranks = 8, .replicas = 2});
}

TEST_F(SavedByEight, WithReplicasOfTpGroupsLoadedByOthers) {
  set_divisible_model();
  save({.replicas = 2, .tp = 2});
  expect_loaded_by({.tp = 4});
  expect_loaded_by({.ranks = 3});
}

}  // namespace
}  // namespace octet
