// Host memory of checkpoints in the memory plan.
#include <gtest/gtest.h>

#include "checkpoints/restore/resharding.h"
#include "src/train/plan/memory_plan.h"

namespace octet {
namespace {

RunConfig small() {
  RunConfig config;
  config.model = {.name = "small",
                  .dim = 64,
                  .layers = 3,
                  .heads = 4,
                  .kv_heads = 2,
                  .head_dim = 16,
                  .ffn_dim = 192,
                  .vocab_size = 20'000};
  config.checkpoint.interval = "10";
  return config;
}

std::int64_t host_bytes(const RunConfig& config, const MeshShape& mesh) {
  RunConfig laid_out = config;
  laid_out.parallel.tp = mesh.tp;
  return plan_run(laid_out, mesh, 0, 1, DeviceType::cpu).host;
}

TEST(CheckpointMemory, IsMastersAndMomentsOfTheShard) {
  const RunConfig config = small();
  const std::int64_t whole = 3 * 4 * config.model.parameters();
  const std::int64_t padding = whole / 50;
  for (const int shards : {1, 2, 4}) {
    const std::int64_t bytes = host_bytes(config, {.dp_shard = shards});
    EXPECT_GE(bytes, whole / shards) << shards;
    EXPECT_LE(bytes, whole / shards + padding) << shards;
  }
}

TEST(CheckpointMemory, TensorParallelismDividesIt) {
  const RunConfig config = small();
  const std::int64_t whole = 3 * 4 * config.model.parameters();
  const std::int64_t bytes = host_bytes(config, {.dp_shard = 1, .tp = 2});
  EXPECT_GE(bytes, whole / 2);
  EXPECT_LT(bytes, whole * 6 / 10);
}

TEST(CheckpointMemory, ReplicasShareIt) {
  const RunConfig config = small();
  const std::int64_t whole = 3 * 4 * config.model.parameters();
  const std::int64_t bytes = host_bytes(config, {.dp_replicate = 3, .dp_shard = 1});
  EXPECT_GE(bytes, whole / 3);
  EXPECT_LT(bytes, whole * 2 / 3);
}

TEST(CheckpointMemory, OfReadingAlone) {
  RunConfig config = small();
  config.checkpoint.interval = "off";
  const std::int64_t shard = 4 * config.model.parameters();
  EXPECT_EQ(host_bytes(config, {}), checkpoint::read_buffer_bytes);
  config.device = DeviceType::cuda;  // through memory of the host, one kind of tensors after the other
  EXPECT_GE(host_bytes(config, {}), shard + checkpoint::read_buffer_bytes);
  EXPECT_LT(host_bytes(config, {}), 2 * shard + checkpoint::read_buffer_bytes);
  const std::int64_t reading = host_bytes(config, {});
  config.checkpoint.resume = Resume::never;
  EXPECT_EQ(host_bytes(config, {}), 0);
  config.init.from = "runs/other";  // whose weights are read in the same way
  EXPECT_EQ(host_bytes(config, {}), reading);
}

TEST(CheckpointMemory, CountsWhereTheHostIsTheDevice) {
  MemoryPlan plan;
  plan.host = cpu_device().available_bytes() / 2;
  EXPECT_NO_THROW(check_fits(plan, cpu_device(), 1));
  EXPECT_THROW(check_fits(plan, cpu_device(), 3), Error);
  EXPECT_NE(memory_table(plan, nullptr).find("host, checkpoints"), std::string::npos);
}

}  // namespace
}  // namespace octet
