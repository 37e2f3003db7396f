// Groups of a mesh that have the same ranks are one communicator of NCCL with several names, where their settings
// agree.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/in_flight.h"
#include "src/comm/mesh.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/device/buffer.h"
#include "tests/nccl/one_gpu.h"
#include "tests/nccl/slow_device.h"
#include "tests/nccl/stand_in_nccl.h"

namespace octet::test {
namespace {

using Names = std::vector<std::string>;

class Sharing : public testing::Test {
 protected:
  Sharing() { stand_in() = {}; }
  void SetUp() override {
    if (ranks_ == 1) GTEST_SKIP() << "a group of one needs no NCCL";
  }
  void TearDown() override { stand_in() = {}; }
  Mesh mesh(const MeshShape& shape, const NcclSettings& settings = {}) {
    return Mesh(make_on_stand_in(*stream_, settings), shape);
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  const int ranks_ = make_mpi_communicator(*stream_, "ranks")->size();
};

TEST_F(Sharing, ACommunicatorForEachSetOfRanks) {
  struct Case {
    MeshShape shape;
    Names made;
  };
  std::vector<Case> cases{{{.dp_shard = ranks_}, {"world"}},
                          {{.dp_replicate = ranks_, .dp_shard = 1}, {"world"}},
                          {{.dp_shard = 1, .tp = ranks_}, {"world"}}};
  if (ranks_ == 4) {
    cases.push_back({{.dp_replicate = 2, .dp_shard = 2}, {"world", "dp_replicate", "dp_shard"}});
    cases.push_back({{.dp_replicate = 2, .tp = 2}, {"world", "dp_replicate", "tp"}});
    cases.push_back({{.dp_shard = 2, .tp = 2}, {"world", "dp_shard", "tp"}});
  }
  for (const Case& c : cases) {
    stand_in() = {};
    {
      const Mesh made = mesh(c.shape);
      EXPECT_EQ(stand_in().made, c.made);
    }
    EXPECT_EQ(stand_in().alive, 0);
    EXPECT_EQ(stand_in().destroyed, static_cast<int>(c.made.size()));
  }
}

TEST_F(Sharing, AGroupWithSettingsOfItsOwnHasACommunicatorOfItsOwn) {
  Mesh made = mesh({.dp_shard = ranks_}, {.dp_shard = {.max_ctas = 8}});
  EXPECT_EQ(stand_in().made, (Names{"world", "dp_shard"}));
  EXPECT_EQ(stand_in().configs.at("dp_shard").maxCTAs, 8);
  EXPECT_EQ(stand_in().configs.at("world").maxCTAs, NCCL_CONFIG_UNDEF_INT);
  std::int32_t x = 1;
  made.dp().all_reduce(&x, 1, DType::i32, ReduceOp::sum);  // the world's
  EXPECT_EQ(x, ranks_);
}

/// Messages between stages have settings of their own; what else the ranks of a pipeline exchange has the defaults.
TEST_F(Sharing, TheLinksOfAPipelineHaveTheSettingsOfPp) {
  Mesh made = mesh({.pp = ranks_}, {.tp = {.max_ctas = 16}, .pp = {.max_ctas = 4}});
  EXPECT_EQ(stand_in().made, Names{"world"});
  const auto down = cpu_device().make_stream(), up = cpu_device().make_stream();
  const auto to_next = made.pp().on_stream(*down, "pp_down"), to_last = made.pp().on_stream(*up, "pp_up");
  EXPECT_EQ(stand_in().made, (Names{"world", "pp_down", "pp_up"}));
  EXPECT_EQ(stand_in().configs.at("pp_down").maxCTAs, 4);
  EXPECT_EQ(stand_in().configs.at("pp_up").maxCTAs, 4);
  EXPECT_EQ(stand_in().configs.at("world").maxCTAs, NCCL_CONFIG_UNDEF_INT);
}

TEST_F(Sharing, RegisteredBuffersAreThoseOfTheirOwnGroup) {
  Mesh made = mesh({.dp_shard = ranks_}, {.dp_shard = {.buffers = NcclBuffers::registered}});
  EXPECT_EQ(stand_in().made, (Names{"world", "dp_shard"}));
  for (Communicator* group : {&made.world(), &made.dp(), &made.replica()}) EXPECT_TRUE(group->memory().cheap());
  EXPECT_FALSE(made.fsdp().memory().cheap());
  const Buffer buffer(made.fsdp().memory(), 1000, Purpose::gathered);
  EXPECT_EQ(stand_in().memory.at(buffer.as<char>()).group, "dp_shard");
}

/// With equal settings that are not the default: the memory of both names is registered with the one communicator.
TEST_F(Sharing, EqualSettingsShareWhateverTheyAre) {
  const NcclSettings settings{.dp_shard = {.max_ctas = 4, .buffers = NcclBuffers::symmetric},
                              .tp = {.max_ctas = 4, .buffers = NcclBuffers::symmetric}};
  const auto world = make_on_stand_in(*stream_, settings);
  const auto shard = world->alias("dp_shard"), tp = shard->alias("tp"), replica = tp->alias("replica");
  EXPECT_EQ(stand_in().made, (Names{"world", "dp_shard", "replica"}));
  const Buffer buffer(tp->memory(), 1000, Purpose::gathered);
  EXPECT_EQ(stand_in().memory.at(buffer.as<char>()).group, "dp_shard");
  stand_in().out_of_memory = true;
  try {
    tp->memory().allocate(1000);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("ncclMemAlloc of 1000 bytes in group tp"), std::string::npos) << e.what();
  }
}

/// A stream of its own is a communicator of its own: two collectives of one communicator never run side by side.
TEST_F(Sharing, AnotherStreamIsAnotherCommunicator) {
  const auto other = cpu_device().make_stream();
  Mesh made = mesh({.dp_shard = ranks_});
  const auto gathers = made.fsdp().on_stream(*other, "dp_shard");
  EXPECT_EQ(stand_in().made, (Names{"world", "dp_shard"}));
  EXPECT_EQ(&gathers->alias("again")->stream(), other.get());
  EXPECT_EQ(stand_in().made.size(), 2);
}

/// MPI, which introduces the ranks, is on a CPU stream.
class SharingInFlight : public Sharing {
 protected:
  SharingInFlight() { share_one_gpu(); }
  Mesh mesh_in_flight() {
    return Mesh(
        make_nccl_communicator(announced(make_mpi_communicator(*stream_, "world")), *slow_stream_, {}, stand_in_api()),
        {.dp_shard = ranks_});
  }

  SlowDevice slow_;
  std::unique_ptr<Stream> slow_stream_ = slow_.make_stream();
};

TEST_F(SharingInFlight, EveryGroupIsNamedInWhatItHasNotDone) {
  Mesh made = mesh_in_flight();
  std::array<float, 3> x{1, 1, 1};
  made.replica().all_reduce(x.data(), 1, DType::f32, ReduceOp::sum);
  EXPECT_EQ(operations_in_flight(), "all_reduce (sum) of 4 bytes in group replica");
  slow_.done = true;
  poll_in_flight();
  slow_.done = false;
  made.world().group_begin();
  made.dp().all_reduce(&x[1], 1, DType::f32, ReduceOp::sum);
  made.fsdp().all_reduce(&x[2], 1, DType::f32, ReduceOp::max);
  made.world().group_end();
  EXPECT_EQ(x, (std::array<float, 3>{static_cast<float>(ranks_), static_cast<float>(ranks_), 1}));
  const std::string oldest = operations_in_flight();
  EXPECT_TRUE(oldest == "all_reduce (sum) of 4 bytes in group dp" ||
              oldest == "all_reduce (max) of 4 bytes in group dp_shard")
      << oldest;
  slow_.done = true;
}

TEST_F(SharingInFlight, AnErrorNamesTheGroupThatCalledAndOfNoCallAllThatShare) {
  Mesh made = mesh_in_flight();
  const auto message_of = [](const auto& work) -> std::string {
    try {
      work();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  stand_in().fails_with = ncclRemoteError;
  const std::string polled = message_of([] { poll_in_flight(); });
  EXPECT_NE(polled.find("group world (and dp_shard, dp, replica): NCCL: remote process exited"), std::string::npos)
      << polled;
  float x = 1;
  const std::string called = message_of([&] { made.dp().all_reduce(&x, 1, DType::f32, ReduceOp::sum); });
  EXPECT_NE(called.find("all_reduce (sum) of 4 bytes in group dp: NCCL: remote process exited"), std::string::npos)
      << called;
}

}  // namespace
}  // namespace octet::test
