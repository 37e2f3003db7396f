// What must not depend on the layout at all: initial weights and global batches, to the bit.
#include <cstring>

#include "tests/equivalence/trainer_test.h"
#include "tests/support/global_element.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class LayoutFree : public TrainerTest {
 protected:
  /// For each way to divide the ranks of this program into replicas.
  template <typename F>
  void for_each_layout(const F& body) {
    for (const int replicas : {1, 2}) {
      if (world_->size() % replicas != 0) continue;
      SCOPED_TRACE(fmt::format("{} replicas", replicas));
      Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_replicate = replicas, .dp_shard = 0});
      Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
      body(mesh, trainer);
    }
  }
};

TEST_F(LayoutFree, InitialWeights) {
  for_each_layout([&](Mesh& mesh, Trainer& trainer) {
    const ParameterList& list = trainer.model().parameters();
    const ShardLayout whole_layout(list, 0, 1);
    ShardedBuffer whole(whole_layout, cpu_device(), *stream_, Purpose::parameters);
    initialize(list, whole, config_.seed, cpu_device(), *stream_);
    const ShardedBuffer& mine = trainer.model().master();
    ASSERT_EQ(mine.layout().size(), whole_layout.size());
    std::int32_t elements = 0, not_zero = 0;
    for (std::size_t i = 0; i < whole_layout.size(); ++i) {
      const Shard& shard = mine.layout().shard(i);
      elements += static_cast<std::int32_t>(shard.elements());
      const float* expected = whole.data(i) + test::global_element(shard, 0);
      for (std::int64_t j = 0; j < shard.elements(); ++j) not_zero += expected[j] != 0 ? 1 : 0;
      EXPECT_EQ(std::memcmp(mine.data(i), expected, static_cast<std::size_t>(shard.elements()) * 4), 0)
          << list.parameters[i].name;
    }
    mesh.fsdp().all_reduce(&elements, 1, DType::i32, ReduceOp::sum);
    EXPECT_EQ(elements, config_.model.parameters());
    EXPECT_GT(not_zero, 0);
  });
}

TEST_F(LayoutFree, GlobalBatches) {
  Batch whole, part;
  for (const std::int64_t micro_batch : {1, 3}) {
    if (batch % (world_->size() * micro_batch) != 0) continue;
    config_.train.micro_batch = micro_batch;
    for_each_layout([&](Mesh& mesh, Trainer& trainer) {
      const Sampler& sampler = trainer.sampler();
      const BatchLayout layout{mesh.dp().rank(), mesh.dp().size(), micro_batch};
      const std::int64_t mine = batch / mesh.dp().size() * seq;
      for (const std::int64_t step : {0, 1, 19}) {
        sampler.train_batch(step, {0, 1, batch}, 0, whole);
        for (const auto field : {&Batch::tokens, &Batch::targets}) {
          std::vector<std::int32_t> of_rank, all(static_cast<std::size_t>(batch * seq));
          for (std::int64_t m = 0; m < sampler.micro_batches(layout); ++m) {
            sampler.train_batch(step, layout, m, part);
            of_rank.insert(of_rank.end(), (part.*field).begin(), (part.*field).end());
          }
          ASSERT_EQ(static_cast<std::int64_t>(of_rank.size()), mine);
          mesh.dp().all_gather(of_rank.data(), all.data(), mine, DType::i32);
          EXPECT_EQ(all, whole.*field) << "step " << step;
        }
      }
    });
  }
}

}  // namespace
}  // namespace octet
