// What must not depend on the layout at all: initial weights and global batches, to the bit.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <filesystem>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/data/token_writer.h"
#include "src/train/trainer.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t batch = 12, seq = 16;

class LayoutFree : public testing::Test {
 protected:
  LayoutFree() : stream_(cpu_device().make_stream()), world_(make_mpi_communicator(*stream_, "files")) {
    std::int32_t id = getpid();
    world_->broadcast(&id, 1, DType::i32, 0);
    folder_ = fs::temp_directory_path() / fmt::format("octet-layout-{}", id);
    if (world_->rank() == 0) write_data();
    world_->barrier();
    // Odd dimensions, so that 2, 3 and 4 ranks all pad.
    config_.model = {.name = "odd",
                     .dim = 20,
                     .layers = 2,
                     .heads = 2,
                     .kv_heads = 1,
                     .head_dim = 6,
                     .ffn_dim = 27,
                     .vocab_size = 50};
    config_.precision = Precision::fp32;
    config_.seed = 7;
    config_.train.seq_len = seq;
    config_.train.global_batch = batch;
    config_.data.train = {{folder_ / "data", 1.0}};
    config_.data.validation_fraction = 0.1;
  }
  ~LayoutFree() override {
    world_->barrier();
    std::error_code ignored;
    if (world_->rank() == 0) fs::remove_all(folder_, ignored);
  }

  void write_data() const {
    fs::create_directories(folder_);
    TokenFileWriter writer(folder_ / "data", TokenType::u8);
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 1500; ++i) ids.push_back(i * i % 47);
    writer.append(ids);
    writer.end_document();
    writer.finish();
  }

  /// For each way to divide the ranks of this program into replicas.
  template <typename F>
  void for_each_layout(const F& body) {
    for (const int replicas : {1, 2}) {
      if (world_->size() % replicas != 0) continue;
      SCOPED_TRACE(fmt::format("{} replicas", replicas));
      Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_replicate = replicas, .dp_shard = 0});
      Trainer trainer(config_, mesh, *stream_, nullptr);
      body(mesh, trainer);
    }
  }

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Communicator> world_;
  fs::path folder_;
  RunConfig config_;
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
      const float* expected = whole.data(i) + shard.first_element();
      for (std::int64_t j = 0; j < shard.elements(); ++j) not_zero += expected[j] != 0 ? 1 : 0;
      EXPECT_EQ(std::memcmp(mine.data(i), expected, static_cast<std::size_t>(shard.elements()) * 4), 0)
          << list.parameters[i].name;
    }
    mesh.dp_shard().all_reduce(&elements, 1, DType::i32, ReduceOp::sum);
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
