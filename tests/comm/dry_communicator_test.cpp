// A world without ranks beside the real ones of this program.
#include "src/comm/dry_communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/trace.h"

namespace octet {
namespace {

struct Spans final : WorkLog {
  double add(const Stream&, const Work& work, const Turn&) override {
    all.push_back(work);
    return 0;
  }
  std::vector<Work> all;
};

class DryWorlds : public testing::Test {
 protected:
  std::unique_ptr<Communicator> world(const DryWorld& of) { return make_dry_communicator(of, *stream_); }

  Spans log_;
  std::unique_ptr<Device> device_ = make_dry_device(DeviceType::cpu, &log_);
  std::unique_ptr<Stream> stream_ = device_->make_stream();
};

TEST_F(DryWorlds, HaveTheGroupsOfTheirMesh) {
  const MeshShape shape{.dp_replicate = 2, .dp_shard = 4, .tp = 8};
  for (const int rank : {0, 13, 63}) {
    Mesh mesh(world({.shape = shape, .rank = rank}), shape);
    EXPECT_EQ(mesh.coordinates(), coordinates(shape, rank));
    for (Communicator* group : {&mesh.world(), &mesh.dp_replicate(), &mesh.fsdp(), &mesh.tp(), &mesh.dp(),
                                &mesh.replica(), &mesh.pp(), &mesh.cp(), &mesh.losses(), &mesh.stage_replica()}) {
      const MeshGroup* const known = find_group(group->name(), shape);
      ASSERT_NE(known, nullptr);
      const std::vector<int> ranks = ranks_of(*known, shape, rank);
      EXPECT_EQ(group->size(), static_cast<int>(ranks.size())) << group->name();
      EXPECT_EQ(ranks[static_cast<std::size_t>(group->rank())], rank) << group->name();
    }
    const auto beside = device_->make_stream();
    const auto copy = mesh.tp().on_stream(*beside, "tp");
    EXPECT_EQ(copy->size(), 8);
    EXPECT_EQ(&copy->stream(), beside.get());
  }
  const auto all = world({.shape = shape, .rank = 0});
  EXPECT_THROW(all->split(0, 0, "of no mesh"), Error);
  EXPECT_THROW(all->split_by_node("node"), Error);
  EXPECT_THROW(all->send(nullptr, 1, DType::f32, 64), Error);
}

TEST_F(DryWorlds, TellOfTheirCallsAsWork) {
  Mesh mesh(world({.shape = {.dp_shard = 4, .tp = 2}, .rank = 3}), {.dp_shard = 4, .tp = 2});
  Communicator& shards = mesh.fsdp();
  shards.all_gather(nullptr, nullptr, 10, DType::bf16);
  shards.group_begin();
  mesh.tp().group_begin();
  shards.reduce_scatter(nullptr, nullptr, 5);
  shards.reduce_scatter(nullptr, nullptr, 6);
  mesh.tp().send(nullptr, 8, DType::e4m3, 0);
  mesh.tp().recv(nullptr, 8, DType::e4m3, 0);
  EXPECT_EQ(log_.all.size(), 1u) << "a group of calls starts at its end";
  mesh.tp().group_end();
  shards.group_end();
  ASSERT_EQ(log_.all.size(), 3u);
  EXPECT_EQ(log_.all[0].name, "all_gather");
  EXPECT_EQ(log_.all[0].group, "dp_shard");
  EXPECT_EQ(log_.all[0].ranks, 4);
  EXPECT_EQ(log_.all[0].bytes, 4 * 10 * 2);
  EXPECT_EQ(log_.all[0].bus_bytes, 3 * 10 * 2);
  EXPECT_EQ(log_.all[1].name, "reduce_scatter");
  EXPECT_EQ(log_.all[1].bytes, 4 * 11 * 4);
  EXPECT_EQ(log_.all[2].group, "tp");
  EXPECT_EQ(log_.all[2].bus_bytes, 8) << "what comes travels beside what goes";
}

TEST_F(DryWorlds, KeepMemoryWhereTheyAreAskedTo) {
  const auto registered = [](std::string_view group) { return group == "dp_shard"; };
  Mesh several(world({.shape = {.dp_shard = 2}, .keeps_memory = registered}), {.dp_shard = 2});
  EXPECT_FALSE(several.fsdp().memory().cheap());
  EXPECT_TRUE(several.dp().memory().cheap());
  EXPECT_EQ(&several.fsdp().memory().ledger(), &device_->ledger());
  Mesh one(world({.shape = {}, .keeps_memory = registered}), {});
  EXPECT_TRUE(one.fsdp().memory().cheap());
  Mesh asked(world({.shape = {}, .keeps_memory = registered, .one_rank_groups = true}), {});
  EXPECT_FALSE(asked.fsdp().memory().cheap());
}

TEST_F(DryWorlds, NameTheCommunicatorsThatAreMadeAndTheirUse) {
  std::vector<DryGroup> made;
  const auto alike = [](std::string_view, std::string_view b) { return b != "replica"; };
  Mesh mesh(world({.shape = {.dp_shard = 4}, .alike = alike, .made = &made}), {.dp_shard = 4});
  mesh.fsdp().all_gather(nullptr, nullptr, 1, DType::f32);
  mesh.dp().all_reduce(nullptr, 1, DType::f32, ReduceOp::sum);
  mesh.replica().all_reduce(nullptr, 1 << 20, DType::f32, ReduceOp::sum);
  std::erase_if(made, [](const DryGroup& g) { return g.ranks.size() == 1; });
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].name, "world");
  EXPECT_TRUE(made[0].traffic.gathers && made[0].traffic.agrees && !made[0].traffic.reduces);
  EXPECT_EQ(made[1].name, "replica");
  EXPECT_EQ(made[1].ranks, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(made[1].traffic.reduces && !made[1].traffic.agrees && !made[1].traffic.gathers);
}

/// Of every size about the borders at which reductions are cut differently.
TEST_F(DryWorlds, TakeTheScratchOfTheMpiBackend) {
  const auto stream = cpu_device().make_stream();
  const int ranks = make_mpi_communicator(*stream, "world")->size();
  const auto peak_of = [&](Communicator& group, MemoryLedger& ledger, std::int64_t count, bool scatter) {
    std::vector<float> send(static_cast<std::size_t>(count * ranks), 1.0f), recv(static_cast<std::size_t>(count));
    const std::int64_t before = ledger.usage(Purpose::communication).now;
    ledger.reset_peaks();
    if (scatter) group.reduce_scatter(send.data(), recv.data(), count);
    if (!scatter) group.all_reduce(send.data(), count, DType::f32, ReduceOp::sum);
    return ledger.usage(Purpose::communication).peak - before;
  };
  for (const std::int64_t count : {1, 100, 4096, 4097, 16'383, 16'385, 100'000, 1'000'003}) {
    for (const bool scatter : {false, true}) {
      const auto real = make_mpi_communicator(*stream, "world");
      const auto dry = world({.shape = {.dp_shard = ranks}});
      EXPECT_EQ(peak_of(*dry, device_->ledger(), count, scatter), peak_of(*real, cpu_device().ledger(), count, scatter))
          << count << (scatter ? " scattered" : " summed");
      const auto nccl = world({.shape = {.dp_shard = ranks}, .in_rank_order = false});
      EXPECT_EQ(peak_of(*nccl, device_->ledger(), count, scatter), 0);
    }
  }
}

}  // namespace
}  // namespace octet
