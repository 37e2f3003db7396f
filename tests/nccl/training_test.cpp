// Trainers whose ranks speak through the NCCL backend: over the stand-in the same bits as over MPI; on a GPU, over
// NCCL, the losses of the CPU.
#include <cstdlib>

#include "src/comm/nccl/nccl_backend.h"
#include "src/train/memory_plan.h"
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
    EXPECT_EQ(stand_in().outside["dp_shard"] > 0, GetParam().ranks > GetParam().replicas * GetParam().tp);
    EXPECT_EQ(stand_in().alive, 0);
    EXPECT_GT(stand_in().destroyed, 1);
    EXPECT_NE(found.front(), found.back());
  }
}

/// On one rank too where that is asked for: for measurements on one GPU.
TEST_P(Training, AGroupOfOneRankSpeaksThroughNcclWhereItIsAsked) {
  if (GetParam().tp > 1) GTEST_SKIP() << "the groups of one rank of other layouts suffice";
  stand_in() = {};
  config_.parallel.one_rank_exchange = GetParam().ranks == GetParam().replicas;
  config_.train.micro_batch = batch / GetParam().ranks;  // sums over micro-batches round in another order
  const NcclSettings settings{.one_rank_groups = true};
  auto world =
      make_nccl_communicator(announced(make_mpi_communicator(*stream_, "world")), *stream_, settings, stand_in_api());
  const std::vector<double> found = losses(std::move(world), *stream_);
  EXPECT_GT(stand_in().outside["dp_shard"], 0);
  EXPECT_EQ(stand_in().alive, 0);
  config_.parallel.overlap = "auto";
  config_.parallel.one_rank_exchange = false;
  EXPECT_EQ(found, expected());
}

/// What the shard groups send from and receive in is all registered with them, the losses are the same, and no more
/// memory is kept than the plan says.
TEST_P(Training, BuffersOfTheShardGroupAreRegistered) {
  for (const char* buffers : {"registered", "symmetric"}) {
    stand_in() = {};
    const NcclSettings settings{.dp_shard = {.buffers = buffers}};
    auto world =
        make_nccl_communicator(announced(make_mpi_communicator(*stream_, "world")), *stream_, settings, stand_in_api());
    config_.train.steps = 3;
    MemoryLedger& ledger = cpu_device().ledger();
    ledger.reset_peaks();
    const std::int64_t gathered = ledger.usage(Purpose::gathered).now, gradients = ledger.usage(Purpose::gradients).now;
    const std::vector<double> found = losses(std::move(world), *stream_);
    const int shards = GetParam().ranks / GetParam().replicas / GetParam().tp;
    const bool sharded = shards > 1;
    const MemoryPlan plan =
        plan_memory({.settings = llama_settings(config_, 0),
                     .mesh = {.dp_replicate = GetParam().replicas, .dp_shard = shards, .tp = GetParam().tp},
                     .fsdp = {.overlap = sharded},
                     .micro_batches = batch / config_.train.micro_batch / (shards * GetParam().replicas),
                     .buffers_kept = sharded},
                    *stream_);
    EXPECT_EQ(ledger.usage(Purpose::gathered).peak - gathered, plan[Purpose::gathered]);
    EXPECT_EQ(ledger.usage(Purpose::gradients).peak - gradients, plan[Purpose::gradients]);
    EXPECT_EQ(stand_in().outside["dp_shard"], 0) << buffers;
    EXPECT_EQ(stand_in().registrations > 3, sharded);
    EXPECT_TRUE(stand_in().memory.empty());
    EXPECT_EQ(found, expected()) << buffers;
  }
}

TEST_P(Training, OnTheGpuLossesAreThoseOfTheCpu) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const std::string host_id = fmt::format("rank-{}", world_->rank());  // so that ranks may share a GPU
  setenv("NCCL_HOSTID", host_id.c_str(), 1);
  const auto gpu = cuda_device(0).make_stream();
  struct Case {
    Precision precision;
    double tolerance;
    const char* buffers;
  };
  for (const auto& [precision, tolerance, buffers] : {Case{Precision::fp32, 1e-4, "plain"},
                                                      {Precision::fp32, 1e-4, "registered"},
                                                      {Precision::bf16, 1e-2, "plain"},
                                                      {Precision::float8, 1e-2, "plain"}}) {
    config_.precision = precision;
    const NcclSettings settings{.dp_shard = {.buffers = buffers}};
    const std::vector<double> found =
        losses(make_nccl_communicator(make_mpi_communicator(*stream_, "world"), *gpu, settings), *gpu);
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
