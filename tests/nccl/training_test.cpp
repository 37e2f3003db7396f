// Trainers whose ranks speak through the NCCL backend: over the stand-in the same bits as over MPI; on a GPU, over
// NCCL, the losses of the CPU.
#include <algorithm>

#include "src/comm/nccl/nccl_api.h"
#include "src/comm/trace.h"
#include "src/train/plan/dry_run.h"
#include "src/train/plan/memory_plan.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/nccl/one_gpu.h"
#include "tests/nccl/stand_in_nccl.h"
#include "tests/support/sampler_of.h"

namespace octet::test {
namespace {

struct Layout {
  const char* name;
  int ranks, replicas, tp;
  bool async_tp = false;
  int pp = 1;
  int chunks = 1;

  int shards() const { return ranks / replicas / tp / pp; }
};

class Training : public TrainerTest, public testing::WithParamInterface<Layout> {
 protected:
  void SetUp() override {
    if (world_->size() != GetParam().ranks) GTEST_SKIP() << "needs " << GetParam().ranks << " ranks";
    config_.train.micro_batch = GetParam().async_tp ? 2 : 3;  // fp8 GEMMs want parts of 16 tokens
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
    config_.parallel.pp = GetParam().pp;
    if (GetParam().chunks > 1) {
      config_.parallel.pp_schedule = PipelineOrder::interleaved;
      config_.parallel.pp_chunks = GetParam().chunks;
      config_.model.layers = GetParam().pp * GetParam().chunks;
    }
    config_.parallel.overlap = AutoBool::yes;
    config_.optimizer.lr = 1e-3;
  }

  Mesh mesh_of(std::unique_ptr<Communicator> world) {
    return Mesh(std::move(world),
                {.pp = GetParam().pp, .dp_replicate = GetParam().replicas, .dp_shard = 0, .tp = GetParam().tp});
  }
  std::vector<double> losses(std::unique_ptr<Communicator> world, Stream& stream) {
    Mesh mesh = mesh_of(std::move(world));
    return losses(mesh, stream);
  }
  std::vector<double> losses(Mesh& mesh, Stream& stream) {
    Trainer trainer(config_, sampler_of(config_), mesh, *world_, stream, nullptr);
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
    const std::vector<double> found = losses(make_on_stand_in(*stream_), *stream_);
    EXPECT_EQ(found, expected()) << name_of(precision);
    EXPECT_EQ(stand_in().outside["dp_shard"] > 0, GetParam().shards() > 1);
    EXPECT_EQ(stand_in().alive, 0);
    EXPECT_EQ(stand_in().destroyed, static_cast<int>(stand_in().made.size()));
    EXPECT_NE(found.front(), found.back());
  }
}

/// What the memory plan counts: the communicators that trainers make, each used for what was planned alone.
TEST_P(Training, EveryCommunicatorIsInTheMemoryPlan) {
  for (const AutoBool overlap : {AutoBool::yes, AutoBool::no}) {
    if (GetParam().shards() == 1 && overlap == AutoBool::yes) continue;
    stand_in() = {};
    config_.parallel.overlap = overlap;
    config_.train.steps = 1;
    CommTrace trace;
    Mesh mesh = mesh_of(make_traced(make_on_stand_in(*stream_), &trace));
    losses(mesh, *stream_);
    RunConfig on_gpus = config_;
    on_gpus.device = DeviceType::cuda;
    DryRun dry(on_gpus, mesh.shape(), world_->rank(), DeviceType::cpu);
    dry.step();
    std::vector<DryGroup> planned = dry.groups();
    std::erase_if(planned, [](const DryGroup& g) { return g.ranks.size() == 1; });
    std::vector<std::string> names;
    for (const DryGroup& g : planned) names.push_back(g.name);
    EXPECT_EQ(stand_in().made, names) << name_of(overlap);
    for (const CommRecord& r : trace.records()) {
      if (r.ranks == 1) continue;
      const auto serves = [&](const DryGroup& p) {
        const NcclTraffic& t = p.traffic;
        if (static_cast<int>(p.ranks.size()) != r.ranks) return false;
        if (r.operation.starts_with("all_reduce")) return r.bytes > few_bytes ? t.reduces : t.agrees;
        return r.operation == "all_gather" || r.operation == "reduce_scatter" ? t.gathers : t.exchanges;
      };
      EXPECT_TRUE(std::ranges::any_of(planned, serves)) << r.operation << " in group " << r.group;
    }
  }
}

/// On one rank too where that is asked for: for measurements on one GPU.
TEST_P(Training, AGroupOfOneRankSpeaksThroughNcclWhereItIsAsked) {
  if (GetParam().tp * GetParam().pp > 1) GTEST_SKIP() << "the groups of one rank of other layouts suffice";
  stand_in() = {};
  config_.parallel.one_rank_exchange = GetParam().ranks == GetParam().replicas;
  config_.train.micro_batch = batch / GetParam().ranks;  // sums over micro-batches round in another order
  const NcclSettings settings{.one_rank_groups = true};
  const std::vector<double> found = losses(make_on_stand_in(*stream_, settings), *stream_);
  EXPECT_GT(stand_in().outside["dp_shard"], 0);
  EXPECT_EQ(stand_in().alive, 0);
  config_.parallel.overlap = AutoBool::automatic;
  config_.parallel.one_rank_exchange = false;
  EXPECT_EQ(found, expected());
}

/// What the shard groups send from and receive in is all registered with them, the losses are the same, and no more
/// memory is kept than the plan says.
TEST_P(Training, BuffersOfTheShardGroupAreRegistered) {
  for (const NcclBuffers buffers : {NcclBuffers::registered, NcclBuffers::symmetric}) {
    stand_in() = {};
    const NcclSettings settings{.dp_shard = {.buffers = buffers}};
    config_.train.steps = 3;
    MemoryLedger& ledger = cpu_device().ledger();
    ledger.reset_peaks();
    const std::int64_t gathered = ledger.usage(Purpose::gathered).now, gradients = ledger.usage(Purpose::gradients).now;
    const std::vector<double> found = losses(make_on_stand_in(*stream_, settings), *stream_);
    const int shards = GetParam().shards();
    const bool sharded = shards > 1;
    RunConfig like_it = config_;
    like_it.nccl = settings;
    const MemoryPlan plan = plan_run(
        like_it, {.pp = GetParam().pp, .dp_replicate = GetParam().replicas, .dp_shard = shards, .tp = GetParam().tp},
        world_->rank(), world_->size(), DeviceType::cpu);
    EXPECT_EQ(ledger.usage(Purpose::gathered).peak - gathered, plan[Purpose::gathered]);
    EXPECT_EQ(ledger.usage(Purpose::gradients).peak - gradients, plan[Purpose::gradients]);
    EXPECT_EQ(stand_in().outside["dp_shard"], 0) << name_of(buffers);
    EXPECT_EQ(stand_in().registrations > 3, sharded);
    EXPECT_TRUE(stand_in().memory.empty());
    EXPECT_EQ(found, expected()) << name_of(buffers);
  }
}

/// Few steps, and one mesh for all precisions: ranks that share a GPU take turns on it, and jobs/gpu/ranks.sh has few
/// minutes. Registered buffers are those of the shard group.
TEST_P(Training, OnTheGpuLossesAreThoseOfTheCpu) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  share_one_gpu();
  config_.train.steps = 6;
  const auto gpu = cuda_device(0).make_stream();
  const auto mesh_with = [&](NcclBuffers buffers) {
    const NcclSettings settings{.dp_shard = {.buffers = buffers}};
    return mesh_of(make_nccl_communicator(make_mpi_communicator(*stream_, "world"), *gpu, settings));
  };
  const auto compare = [&](Mesh& mesh, Precision precision, double tolerance) {
    config_.precision = precision;
    const std::vector<double> found = losses(mesh, *gpu), cpu = expected();
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      EXPECT_NEAR(found[i], cpu[i], tolerance * cpu[i]) << name_of(precision) << ", step " << i + 1;
    }
  };
  {
    Mesh mesh = mesh_with(NcclBuffers::plain);
    compare(mesh, Precision::fp32, 1e-4);
    compare(mesh, Precision::bf16, 1e-2);
    compare(mesh, Precision::float8, 1e-2);
  }
  if (GetParam().shards() == 1) return;
  Mesh mesh = mesh_with(NcclBuffers::registered);
  compare(mesh, Precision::fp32, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Training,
                         testing::Values(Layout{"fsdp_2", 2, 1, 1}, Layout{"replicas_2", 2, 2, 1},
                                         Layout{"tp_2", 2, 1, 2}, Layout{"async_tp_2", 2, 1, 2, true},
                                         Layout{"fsdp_4", 4, 1, 1}, Layout{"hsdp_2x2", 4, 2, 1},
                                         Layout{"fsdp_2_tp_2", 4, 1, 2}, Layout{"fsdp_2_async_tp_2", 4, 1, 2, true},
                                         Layout{"pp_2", 2, 1, 1, false, 2}, Layout{"pp_2_tp_2", 4, 1, 2, false, 2},
                                         Layout{"pp_2_fsdp_2", 4, 1, 1, false, 2},
                                         Layout{"pp_2_chunks_2", 2, 1, 1, false, 2, 2}),
                         [](const auto& layout) { return layout.param.name; });

}  // namespace
}  // namespace octet::test
