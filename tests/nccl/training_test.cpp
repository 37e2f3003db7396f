// Trainers whose ranks speak through the NCCL backend: over the stand-in the same bits as over MPI; on a GPU, over
// NCCL, the losses of the CPU.
#include <cstdlib>

#include "src/comm/nccl/nccl_backend.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/nccl/stand_in_nccl.h"

namespace octet::test {
namespace {

struct Layout {
  const char* name;
  int ranks, replicas, tp;
  bool async_tp = false;
};

class Training : public TrainerTest, public testing::WithParamInterface<Layout> {
 protected:
  void SetUp() override {
    if (world_->size() != GetParam().ranks) GTEST_SKIP() << "needs " << GetParam().ranks << " ranks";
    config_.train.micro_batch = 3;  // the CUDA kernels want rows of 16 bytes
    config_.train.steps = 20;
    config_.model = {.name = "even",
                     .dim = 64,
                     .layers = 2,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 16,
                     .ffn_dim = 128,
                     .vocab_size = 64};
    config_.parallel.tp = GetParam().tp;
    config_.parallel.async_tp = GetParam().async_tp;
    config_.parallel.overlap = "true";
    config_.optimizer.lr = 1e-3;
  }

  std::vector<double> losses(std::unique_ptr<Communicator> world, Stream& stream) {
    Mesh mesh(std::move(world), {.dp_replicate = GetParam().replicas, .dp_shard = 0, .tp = GetParam().tp});
    Trainer trainer(config_, mesh, *world_, stream, nullptr);
    std::vector<double> all;
    for (std::int64_t step = 1; step <= config_.train.steps; ++step) {
      all.push_back(train_step(trainer, step).loss);
      EXPECT_TRUE(std::isfinite(all.back()));
    }
    return all;
  }
  std::vector<double> expected() { return losses(make_mpi_communicator(*stream_, "world"), *stream_); }
};

TEST_P(Training, OverTheStandInIsThatOverMpiToTheBit) {
  for (const Precision precision : {Precision::fp32, Precision::float8}) {
    config_.precision = precision;
    stand_in() = {};
    auto world =
        make_nccl_communicator(announced(make_mpi_communicator(*stream_, "world")), *stream_, {}, stand_in_api());
    const std::vector<double> found = losses(std::move(world), *stream_);
    EXPECT_EQ(found, expected()) << name_of(precision);
    EXPECT_EQ(stand_in().alive, 0);
    EXPECT_GT(stand_in().destroyed, 1);
    EXPECT_NE(found.front(), found.back());
  }
}

TEST_P(Training, OnTheGpuLossesAreThoseOfTheCpu) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const std::string host_id = fmt::format("rank-{}", world_->rank());  // so that ranks may share a GPU
  setenv("NCCL_HOSTID", host_id.c_str(), 1);
  const auto gpu = cuda_device(0).make_stream();
  for (const auto& [precision, tolerance] :
       {std::pair{Precision::fp32, 1e-4}, {Precision::bf16, 1e-2}, {Precision::float8, 1e-2}}) {
    config_.precision = precision;
    const std::vector<double> found =
        losses(make_nccl_communicator(make_mpi_communicator(*stream_, "world"), *gpu, {}), *gpu);
    const std::vector<double> cpu = expected();
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      EXPECT_NEAR(found[i], cpu[i], tolerance * cpu[i]) << name_of(precision) << ", step " << i + 1;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Training,
                         testing::Values(Layout{"fsdp_2", 2, 1, 1}, Layout{"replicas_2", 2, 2, 1},
                                         Layout{"tp_2", 2, 1, 2}, Layout{"async_tp_2", 2, 1, 2, true},
                                         Layout{"fsdp_4", 4, 1, 1}, Layout{"hsdp_2x2", 4, 2, 1},
                                         Layout{"fsdp_2_tp_2", 4, 1, 2}, Layout{"fsdp_2_async_tp_2", 4, 1, 2, true}),
                         [](const auto& layout) { return layout.param.name; });

}  // namespace
}  // namespace octet::test
