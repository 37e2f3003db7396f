// Bytes that NCCL 2.28 takes by its sources, computed by hand in MiB: a connection over NVLink is 2 + 10, one over the
// network 10 + 10.
#include "src/comm/nccl_footprint.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

/// In MiB, of which all is made.
std::int64_t mebibytes(int ranks, int nodes, const NcclTraffic& traffic, const NcclGroupSettings& settings = {},
                       const NcclVariables& variables = {}) {
  const std::int64_t bytes = nccl_bytes(ranks, nodes, settings, traffic, variables);
  EXPECT_EQ(bytes % (1 << 20), 0);
  return bytes >> 20;
}

constexpr NcclTraffic nothing{}, gathers{.gathers = true}, reduces{.reduces = true}, agrees{.agrees = true},
    exchanges{.exchanges = true};

TEST(NcclFootprint, OfANodeOf8) {
  const int made = 2 * 2 + 32 * 3 * 2 + 16 * 2 + 2, rings = 24 * 12, nvls = 16 * 2 * 8, trees = 24 * 2 * 12;
  EXPECT_EQ(made, 230);
  EXPECT_EQ(mebibytes(8, 1, nothing), made);
  EXPECT_EQ(mebibytes(8, 1, gathers), made + rings + nvls);
  EXPECT_EQ(mebibytes(8, 1, agrees), made + rings + trees);
  EXPECT_EQ(mebibytes(8, 1, reduces), made + rings + trees + nvls);
  EXPECT_EQ(mebibytes(8, 1, exchanges), made + 7 * 32 * 12);
  EXPECT_EQ(mebibytes(8, 1, {.gathers = true, .reduces = true, .agrees = true, .exchanges = true}),
            made + rings + trees + nvls + 7 * 32 * 12);
  EXPECT_EQ(mebibytes(2, 1, agrees), made + rings + 24 * 12) << "one neighbour in the tree";
}

TEST(NcclFootprint, OfSixteenNodesOf8) {
  const int made = 2 * 2 + 16 * 3 * 2 + 16 * 2 + 2, rings = 16 * 12 + 2 * 8, trees = 16 * 2 * 12 + 2 * 3 * 20;
  EXPECT_EQ(mebibytes(128, 16, nothing), made);
  EXPECT_EQ(mebibytes(128, 16, gathers), made + rings);
  EXPECT_EQ(mebibytes(128, 16, agrees), made + rings + trees);
  EXPECT_EQ(mebibytes(128, 16, reduces), made + rings + trees + 16 * 2 * 8 + 16 * 3 * 20);
  EXPECT_EQ(mebibytes(128, 16, exchanges), made + 7 * 2 * 12 + 2 * 32);
}

TEST(NcclFootprint, OfOneRankOnEachNode) {
  const int made = 2 * 2 + 8 * 3 * 2, rings = 8 * 20;
  EXPECT_EQ(mebibytes(16, 16, nothing), made);
  EXPECT_EQ(mebibytes(16, 16, gathers), made + rings + 8 * 2 * 4 * 20);
  EXPECT_EQ(mebibytes(16, 16, reduces), made + rings + 8 * 3 * 20);
  EXPECT_EQ(mebibytes(4, 4, gathers), made + 8 * 3 * 20) << "ring and PAT have no more peers than there are";
  EXPECT_EQ(mebibytes(2, 2, reduces), made + rings);
  EXPECT_EQ(mebibytes(2, 2, exchanges), made + 2 * 16);
}

TEST(NcclFootprint, SettingsLimitTheChannels) {
  EXPECT_EQ(mebibytes(8, 1, gathers, {.max_ctas = 8}), 2 * 2 + 8 * 3 * 2 + 8 * 2 + 2 + 8 * 12 + 8 * 2 * 8);
  EXPECT_EQ(mebibytes(8, 1, exchanges, {.max_ctas = 8}), 2 * 2 + 8 * 3 * 2 + 8 * 2 + 2 + 7 * 8 * 12);
  EXPECT_EQ(mebibytes(8, 1, nothing, {.min_ctas = 32}), 2 * 2 + 32 * 3 * 2 + 32 * 2 + 2);
  EXPECT_EQ(mebibytes(8, 1, nothing, {.max_ctas = 64}), mebibytes(8, 1, nothing));
}

TEST(NcclFootprint, ManyRanksNeedLargerTables) {
  EXPECT_EQ(mebibytes(5000, 625, nothing), 2 * 2 + 16 * (4 + 2 + 2) + 16 * 2 + 2);
}

TEST(NcclFootprint, ARankAloneConnectsWithNobody) {
  EXPECT_EQ(mebibytes(1, 1, gathers), 2 * 2 + 32 * 3 * 2);
  EXPECT_EQ(mebibytes(1, 1, exchanges), mebibytes(1, 1, nothing));
}

/// NCCL_RUNTIME_CONNECT = 0: whatever a group does, it has what all collectives need, and the buffer of what is sent.
TEST(NcclFootprint, ConnectedWhenMade) {
  const NcclVariables at_once{.connects_when_used = false};
  const int node = 230 + 24 * 12 + 24 * 2 * 12 + 16 * 2 * 8 + 32 * 16 / 2;
  const int nodes = 134 + 16 * 12 + 2 * 8 + 16 * 2 * 12 + 2 * 3 * 20 + 16 * 2 * 8 + 16 * 3 * 20 + 16 * 16 / 8;
  const int one_each = 52 + 8 * 20 + 8 * 3 * 20 + 8 * 2 * 4 * 20 + 8 * 16 / 8;
  for (const NcclTraffic& traffic : {nothing, gathers, reduces, agrees}) {
    EXPECT_EQ(mebibytes(8, 1, traffic, {}, at_once), node);
    EXPECT_EQ(mebibytes(128, 16, traffic, {}, at_once), nodes);
    EXPECT_EQ(mebibytes(16, 16, traffic, {}, at_once), one_each);
    EXPECT_EQ(mebibytes(4, 4, traffic, {}, at_once), 52 + 8 * 3 * 20 + 8 * 16 / 8) << "three peers";
  }
  EXPECT_EQ(mebibytes(8, 1, exchanges, {}, at_once), node + 7 * 32 * 12) << "pairs come with their first message";
  EXPECT_EQ(mebibytes(128, 16, exchanges, {}, at_once), nodes + 7 * 2 * 12 + 16 * 16 / 8) << "what is received";
  EXPECT_EQ(mebibytes(1, 1, nothing, {}, at_once), 4 + 32 * 3 * 2 + 32 * 16 / 2);
}

/// What aws-ofi-nccl sets on p5. A connection over NVLink is 2 + 14 then, one over the network 14 + 14.
TEST(NcclFootprint, VariablesSayTheSizes) {
  const NcclVariables efa{.buffer = 8 << 20, .nvls_chunk = 512 << 10, .message_chunk = 512 << 10};
  EXPECT_EQ(mebibytes(8, 1, nothing, {}, efa), 230);
  EXPECT_EQ(mebibytes(8, 1, gathers, {}, efa), 230 + 24 * 16 + 16 * 2 * 4 * 8);
  EXPECT_EQ(mebibytes(8, 1, exchanges, {}, efa), 230 + 7 * 32 * 16);
  const int nodes = 134 + 16 * 16 + 2 * 12 + 16 * 2 * 16 + 2 * 3 * 28;
  EXPECT_EQ(mebibytes(128, 16, agrees, {}, efa), nodes);
  EXPECT_EQ(mebibytes(128, 16, reduces, {}, efa), nodes + 16 * 2 * 4 * 8 + 16 * 3 * 28);
  EXPECT_EQ(mebibytes(128, 16, exchanges, {}, efa), 134 + 7 * 2 * 16 + 2 * 16 * 16 / 2);
  EXPECT_EQ(mebibytes(2, 2, exchanges, {}, {.buffer = 512 << 10}), 52 + 2 * 8)
      << "a message's chunk is a step of the buffer at most: 64 KiB";
}

TEST(NcclFootprint, TrafficAddsUp) {
  NcclTraffic all = gathers;
  all |= agrees;
  EXPECT_EQ(mebibytes(8, 1, all), 230 + 24 * 12 + 16 * 2 * 8 + 24 * 2 * 12);
}

}  // namespace
}  // namespace octet
