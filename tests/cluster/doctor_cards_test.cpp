#include <gtest/gtest.h>

#include "tests/cluster/doctor_support.h"

namespace octet {
namespace {

using test::Changed;
using test::examine_snapshot;
using test::expected_node;

TEST(Doctor, CardsThatTheProfileDoesNotNameMayBeDown) {
  ClusterProfile profile = expected_node();
  Changed node;
  node.with("sys/class/infiniband/mlx5_8/ports/1/state", "2: INIT")
      .with("sys/class/infiniband/mlx5_8/ports/1/rate", "10 Gb/sec (4X SDR)");
  EXPECT_EQ(node.check("hca.state", &profile), "ok: all 8 ACTIVE\n");
  EXPECT_EQ(node.check("hca.state", nullptr), "warning: mlx5_8 is INIT\n");
  profile.nics.hca.clear();  // any eight will do
  EXPECT_EQ(node.check("hca.state", &profile), "warning: mlx5_8 is INIT\n");
  node.with("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  EXPECT_EQ(node.check("hca.state", &profile), "bad: mlx5_0 is DOWN, mlx5_8 is INIT\n");
}

TEST(Doctor, DmaBufTakesThePlaceOfPeermem) {
  EXPECT_EQ(Changed().with("proc/modules", "mlx5_ib 1 0 - Live 0x0\n").check("pci.gpu_direct", nullptr),
            "ok: dma-buf: open kernel modules, Linux 5.15.0\n");
}

/// A node of a vendor's network, which has no verbs devices, and its profile as docs/tuning/custom.md has it.
ClusterProfile plugin_profile() {
  ClusterProfile p = expected_node();
  p.fabric = Fabric::custom;
  p.nics.hca.clear();
  p.environment.variables = {{"NCCL_NET", "AWS Libfabric", "the plugin's network"},
                             {"NCCL_NET_PLUGIN", "libnccl-net.so", "the plugin's file"}};
  return p;
}

TEST(Doctor, ANetworkOfAPluginNeedsNoVerbsDevices) {
  Changed node;
  node.without("sys/class/infiniband").without("commands/ibstat");
  ClusterProfile profile = plugin_profile();
  for (const Finding& f : examine_snapshot(node.folder().path(), &profile)) {
    EXPECT_NE(f.state, FindingState::bad) << f.check << ": " << f.seen;
  }
  EXPECT_EQ(node.check("hca.count", &profile), "not present: no device in /sys/class/infiniband\n");
  // A card of a storage network is none of those of the profile.
  Changed storage;
  for (int i = 1; i < 8; ++i) storage.without(fmt::format("sys/class/infiniband/mlx5_{}", i));
  EXPECT_EQ(storage.check("hca.count", &profile), "ok: 1 (mlx5_0)\n");
  // Sockets need none either, and a plugin is asked before NCCL's own network where NCCL_NET is not set.
  profile.environment.variables[0].value = "Socket";
  EXPECT_EQ(node.check("hca.count", &profile), "not present: no device in /sys/class/infiniband\n");
  profile.environment.variables[0] = {"NCCL_NET", "", "the plugin's is first", "", true};
  EXPECT_EQ(node.check("hca.count", &profile), "not present: no device in /sys/class/infiniband\n");
  // NCCL's own network over verbs needs them, and so does a profile that names them.
  profile.environment.variables[0] = {"NCCL_NET", "IB", "its own"};
  EXPECT_EQ(node.check("hca.count", &profile), "bad: no device in /sys/class/infiniband\n");
  profile = plugin_profile();
  profile.nics.hca = expected_node().nics.hca;
  EXPECT_EQ(node.check("hca.count", &profile), "bad: no device in /sys/class/infiniband\n");
  // The devices of EFA are there, although its network comes with a plugin.
  profile = read_profile("aws-p5-efa");
  EXPECT_EQ(node.check("hca.count", &profile), "bad: no device in /sys/class/infiniband\n");
}

TEST(Doctor, GpuDirectThatTheProfileTurnsOffIsNotMissed) {
  ClusterProfile profile = expected_node();
  Changed node;
  node.with("proc/modules", "mlx5_ib 1 0 - Live 0x0\n").with("proc/driver/nvidia/version", "NVIDIA UNIX x86_64 580\n");
  EXPECT_TRUE(node.check("pci.gpu_direct", &profile).starts_with("bad: no nvidia_peermem; closed"));
  for (const char* level : {"LOC", "0"}) {
    profile.environment.variables = {{"NCCL_NET_GDR_LEVEL", level, "the cluster has no GPUDirect RDMA"}};
    EXPECT_EQ(node.check("pci.gpu_direct", &profile),
              fmt::format("ok: not used: NCCL_NET_GDR_LEVEL={}, as ibm-infiniband says\n", level));
  }
  profile.environment.variables[0].value = "PHB";
  EXPECT_TRUE(node.check("pci.gpu_direct", &profile).starts_with("bad: "));
}

TEST(Doctor, PortsAreOfTheProfilesFabric) {
  const char* check = "hca.link_layer";
  const auto layer = [](int card) { return fmt::format("sys/class/infiniband/mlx5_{}/ports/1/link_layer", card); };
  ClusterProfile infiniband = expected_node(), roce = read_profile("ibm-roce"), custom = plugin_profile();
  EXPECT_EQ(Changed().check(check, &infiniband), "ok: InfiniBand\n");
  EXPECT_EQ(Changed().check(check, nullptr) + Changed().check(check, &custom), "");
  EXPECT_TRUE(Changed().check(check, &roce).starts_with("bad: mlx5_0 is InfiniBand, mlx5_1 is InfiniBand"));
  Changed node;
  node.with(layer(3), "Ethernet\n");
  EXPECT_EQ(node.check(check, &infiniband), "bad: mlx5_3 is Ethernet\n");
  infiniband.nics.hca.clear();
  EXPECT_EQ(node.check(check, &infiniband), "bad: mlx5_3 is Ethernet\n");
  infiniband.nics.per_node = 7;  // the eighth is that of a storage network
  EXPECT_EQ(node.check(check, &infiniband), "warning: mlx5_3 is Ethernet\n");
  EXPECT_EQ(node.with(layer(3), "").check(check, &infiniband), "");
  // NCCL does not use a port that is down, of whatever kind it is.
  Changed down;
  down.with(layer(3), "Ethernet\n").with("sys/class/infiniband/mlx5_3/ports/1/state", "1: DOWN\n");
  EXPECT_EQ(down.check(check, &infiniband), "ok: InfiniBand\n");
}

// 50 is 400 Gb/s in GB/s.
TEST(Doctor, CardsAboveTheProfilesRateAreAWarning) {
  ClusterProfile profile = expected_node();
  profile.nics.gbps = 50;
  EXPECT_EQ(Changed().check("hca.rate", &profile), "warning: 400 Gb/sec (4X NDR)\n");
  profile = expected_node();
  Changed node;
  node.with("sys/class/infiniband/mlx5_3/ports/1/rate", "800 Gb/sec (4X XDR)");
  EXPECT_EQ(node.check("hca.rate", &profile), "warning: 800 Gb/sec (4X XDR)\n");
  profile.nics.hca.clear();
  profile.nics.per_node = 7;  // seven are as the profile says, and nobody says which they are
  EXPECT_TRUE(node.check("hca.rate", &profile).starts_with("ok: "));
}

// Two lanes or one are all that a port has: of NDR200 and HDR100 cards and, as the kernel counts them, of Ethernet
// (leptonai/gpud, components/accelerator/nvidia/infiniband/class/testdata, has mlx5_bond_0 of a machine of eight H100).
TEST(Doctor, WithoutAProfileFewerLanesAreAFaultBesideAFasterCardOfTheModel) {
  const char* check = "hca.rate";
  const auto file = [](int card, const char* name) {
    return fmt::format("sys/class/infiniband/mlx5_{}/{}", card, name);
  };
  Changed node;
  for (int i = 0; i < 8; ++i) node.with(file(i, "board_id"), "MT_0000000838\n");
  node.with(file(7, "ports/1/rate"), "200 Gb/sec (2X NDR)\n").with(file(7, "ports/1/link_layer"), "Ethernet\n");
  EXPECT_EQ(node.check(check, nullptr), "ok: 200 Gb/sec (2X NDR), 400 Gb/sec (4X NDR)\n");
  node.with(file(3, "ports/1/rate"), "200 Gb/sec (2X NDR)\n");
  EXPECT_EQ(node.check(check, nullptr), "warning: mlx5_3: 200 Gb/sec (2X NDR)\n");
  node.with(file(3, "board_id"), "MT_0000001041\n");
  EXPECT_TRUE(node.check(check, nullptr).starts_with("ok: ")) << "another model may have two lanes";
  node.with(file(7, "ports/1/rate"), "25 Gb/sec (1X EDR)\n");
  EXPECT_TRUE(node.check(check, nullptr).starts_with("ok: "));
  for (int i = 0; i < 8; ++i) node.with(file(i, "ports/1/rate"), "100 Gb/sec (2X HDR)\n");
  EXPECT_EQ(node.check(check, nullptr), "ok: 100 Gb/sec (2X HDR)\n");
}

TEST(Doctor, TheFrontendIsAnInterfaceThatIsUp) {
  const char* check = "net.frontend";
  ClusterProfile profile = expected_node();
  EXPECT_EQ(Changed().check(check, nullptr), "");
  EXPECT_EQ(Changed().check(check, &profile), "ok: eth0\n");
  Changed node;
  node.without("sys/class/net/eth0")
      .with("sys/class/net/bond0.12/operstate", "up\n")
      .with("sys/class/net/ib0/operstate", "down\n")
      .with("sys/class/net/bonding_masters", "bond0\n");
  EXPECT_EQ(node.check(check, &profile), "bad: no eth0; this node has bond0.12, ib0, lo\n");
  const auto with = [&](const char* frontend) {
    profile.nics.frontend = frontend;
    return node.check(check, &profile);
  };
  EXPECT_EQ(with("ib0"), "bad: ib0 is down; this node has bond0.12, ib0, lo\n");
  EXPECT_EQ(with("eth0,ib0"), "bad: no eth0, ib0 is down; this node has bond0.12, ib0, lo\n");
  EXPECT_EQ(with("eth0,bond0.12"), "warning: no eth0; this node has bond0.12, ib0, lo\n");
  EXPECT_EQ(with("lo"), "ok: lo\n");  // whose driver does not say that it is up
  profile.environment.variables = {{"NCCL_SOCKET_IFNAME", "=bond0.12", "ours"},
                                   {"UCX_NET_DEVICES", "bond0.12", "ours"}};
  EXPECT_EQ(with("eth0"), "") << "the job does not use it";
  profile.environment.variables.clear();
  EXPECT_EQ(Changed().without("sys/class/net").check(check, &profile), "not present: no interface in /sys/class/net\n");
}

TEST(Doctor, WithoutAFrontendABridgeThatIsUpIsAWarning) {
  const char* check = "net.frontend";
  ClusterProfile efa = read_profile("aws-p5-efa"), local = read_profile("local");
  const std::string docker = "sys/class/net/docker0/";
  Changed node;
  EXPECT_EQ(node.check(check, &efa), "ok: not named, and no bridge is up\n");
  node.with(docker + "bridge/bridge_id", "8000.024201020304\n").with(docker + "operstate", "down\n");
  EXPECT_EQ(node.check(check, &efa), "ok: not named, and no bridge is up\n");
  node.with(docker + "operstate", "up\n");
  EXPECT_EQ(node.check(check, &efa), "warning: bridges are up: docker0\n");
  EXPECT_EQ(node.check(check, &local), "") << "all nodes are one machine";
  efa.environment.variables.push_back({"UCX_NET_DEVICES", "eth0", "ours"});
  EXPECT_EQ(node.check(check, &efa), "");
  efa.environment.variables.pop_back();
  efa.nics.frontend = "eth0";
  EXPECT_EQ(node.check(check, &efa), "ok: eth0\n");
}

}  // namespace
}  // namespace octet
