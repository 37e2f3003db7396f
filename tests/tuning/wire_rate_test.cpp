// What a NIC moves, against arithmetic by hand: 1.6 GB in 10 ms over 4 nodes of 8 ranks and 8 NICs. 1.6 GB over a NIC
// in that time are 160 GB/s, an eighth of them 20.
#include <gtest/gtest.h>

#include "src/tuning/explain/explanation.h"

namespace octet {
namespace {

WireRate rate(Collective collective, Algorithm algorithm, int nodes = 4) {
  const Question question{{}, {}, default_constants({}), collective, {nodes, 8}, 1'600'000'000};
  return wire_rate(question, algorithm, 10'000);
}

void expect(const WireRate& wire, double sent, double received) {
  EXPECT_NEAR(wire.sent_gbs, sent, 1e-9);
  EXPECT_NEAR(wire.received_gbs, received, 1e-9);
  EXPECT_EQ(wire.gbs(), std::max(wire.sent_gbs, wire.received_gbs));
}

TEST(WireRate, InTheNetworkSwitchesAddAndCopy) {
  for (const Algorithm algorithm : {Algorithm::collnet_direct, Algorithm::collnet_chain, Algorithm::nvls}) {
    // A node's sum up, 1.6 GB, and the total down.
    expect(rate(Collective::all_reduce, algorithm), 20, 20);
    // 0.4 GB up, the 1.2 GB of the three others down.
    expect(rate(Collective::all_gather, algorithm), 5, 15);
    // All summands up, 1.6 GB; the node's 0.4 GB of totals down.
    expect(rate(Collective::reduce_scatter, algorithm), 20, 5);
  }
}

TEST(WireRate, RingsPassEverythingThroughEveryNode) {
  expect(rate(Collective::all_reduce, Algorithm::ring), 20 * 2 * 31. / 32, 20 * 2 * 31. / 32);
  expect(rate(Collective::all_gather, Algorithm::ring), 20 * 31. / 32, 20 * 31. / 32);
  expect(rate(Collective::reduce_scatter, Algorithm::ring), 20 * 31. / 32, 20 * 31. / 32);
  expect(rate(Collective::broadcast, Algorithm::ring), 20, 20);
}

TEST(WireRate, TreesHaveAnEdgeLessThanNodes) {
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::nvls_tree}) {
    // 3 edges x 1.6 GB x up and down, over 4 nodes: 2.4 GB.
    expect(rate(Collective::all_reduce, algorithm), 30, 30);
  }
}

TEST(WireRate, OneNodeHasNone) {
  expect(rate(Collective::all_reduce, Algorithm::nvls, 1), 0, 0);
}

}  // namespace
}  // namespace octet
