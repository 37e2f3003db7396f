// A run's layout, as octet-commbench takes it on.
#include <gtest/gtest.h>

#include <iterator>

#include "jobs/commbench/bench_options.h"
#include "tests/support/error_of.h"

namespace octet::commbench {
namespace {

Options of_run(const char* key, const char* value) {
  const char* const words[] = {"octet-commbench",
                               "--config",
                               OCTET_SOURCE_DIR "/configs/runs/english-5m.yaml",
                               "--data.train",
                               "none",
                               key,
                               value};
  return parse_options(static_cast<int>(std::size(words)), words);
}

TEST(Layout, IsTheRunsOnSoManyRanks) {
  const Options options = laid_out(of_run("--parallel.tp", "2"), 4);
  EXPECT_EQ(options.run->config.parallel.dp_shard, 2);
  const MeshShape shape = mesh_shape(options, 4);
  EXPECT_EQ(shape.dp_shard, 2);
  EXPECT_EQ(shape.tp, 2);
}

/// Their messages are in no group of the mesh.
TEST(Layout, OfStagesIsRefusedWithWhatToDo) {
  const std::string refusal = test::error_of([] { of_run("--parallel.pp", "2"); });
  EXPECT_NE(refusal.find("parallel.pp = 2: what stages send each other is not measured"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("--parallel.pp 1"), std::string::npos) << refusal;
  EXPECT_EQ(of_run("--parallel.pp", "1").run->config.parallel.pp, 1);
}

/// Else one GPU would be measured as it copies to itself.
TEST(Layout, OneRankSpeaksThroughNcclWhereTheRunDoes) {
  EXPECT_TRUE(laid_out(of_run("--parallel.one_rank_exchange", "true"), 1).nccl.one_rank_groups);
  EXPECT_FALSE(laid_out(of_run("--parallel.one_rank_exchange", "false"), 1).nccl.one_rank_groups);
}

TEST(Layout, WithoutARunIsOneGroup) {
  const char* const words[] = {"octet-commbench"};
  const Options options = laid_out(parse_options(1, words), 5);
  EXPECT_EQ(mesh_shape(options, 5).dp_shard, 5);
  EXPECT_FALSE(options.nccl.one_rank_groups);
}

}  // namespace
}  // namespace octet::commbench
