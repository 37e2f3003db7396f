#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "src/cluster/profile.h"
#include "src/topology/compare_topology.h"
#include "src/topology/domain_hosts.h"
#include "src/topology/graph_dump.h"
#include "src/topology/topology_lint.h"
#include "tests/data/support.h"
#include "tests/topology/topology_support.h"

namespace octet::test {
namespace {

Findings lint(const std::string& text, const std::string& cluster = "") {
  const NodeTopology t = parse_topology(text, "a.xml");
  if (cluster.empty()) return lint_topology(t, nullptr);
  const ClusterProfile profile = read_profile(cluster);
  return lint_topology(t, &profile);
}

TEST(TopologyLint, HealthyNodesAreHealthyByTheirProfiles) {
  EXPECT_EQ(complaints(lint(topology_text("dgx-h100.xml"), "dgx-h100-infiniband")), "");
  EXPECT_EQ(complaints(lint(topology_text("p5-efa.xml"), "aws-p5-efa")), "");
  EXPECT_EQ(complaints(lint(topology_text("cloud-file.xml"), "ibm-roce")), "");
  // 16 functions of 200 Gb/s are the 8 cards of 400: as fast, and with one guid for two ports.
  EXPECT_EQ(complaints(lint(topology_text("vm-dual-port.xml"), "ibm-roce")), "topology.guids");
}

TEST(TopologyLint, SickDevicesAreNamedWithWhatIsExpected) {
  const Findings f = lint(topology_text("dgx-h100-sick.xml"), "dgx-h100-infiniband");
  EXPECT_EQ(complaints(f), "topology.pci_links topology.nvlinks topology.gpu_direct topology.card_rate");
  EXPECT_EQ(find(f, "topology.pci_links").seen, "GPU 5 (0000:c3:00.0) \"16.0 GT/s PCIe\" x16: 24.0 GB/s to NCCL");
  EXPECT_EQ(find(f, "topology.pci_links").expected, "48.0 GB/s");
  EXPECT_EQ(find(f, "topology.nvlinks").seen, "GPU 2 (0000:52:00.0) 17 NVLinks");
  EXPECT_EQ(find(f, "topology.gpu_direct").seen, "gdr=\"0\": mlx5_3");
  EXPECT_EQ(find(f, "topology.card_rate").seen, "mlx5_10 200000 Mb/s");
  for (const Finding& finding : f) {
    EXPECT_TRUE(finding.state != FindingState::bad || !finding.advice.empty()) << finding.check;
  }
}

TEST(TopologyLint, AFlatTreeOfAVirtualMachineIsFound) {
  const Findings f = lint(topology_text("vm-flat.xml"));
  EXPECT_EQ(complaints(f), "topology.locality topology.gpu_direct");
  EXPECT_HAS(find(f, "topology.locality").seen,
             "16 of 16 devices reach the other kind across the CPU, and there is no PCIe switch");
  EXPECT_HAS(find(f, "topology.locality").advice, "NCCL_TOPO_FILE");
}

TEST(TopologyLint, ABridgeSlowerThanTheGpuAndTheCardThatMeetBelowIt) {
  const Findings f = lint(topology_text("vm-slow-bridges.xml"));
  EXPECT_EQ(find(f, "topology.pci_links").state, FindingState::warning);
  EXPECT_HAS(find(f, "topology.pci_links").seen, "bridge (0000:a0:00.0) \"2.5 GT/s PCIe\" x1: 0.2 GB/s to NCCL");
  EXPECT_HAS(find(f, "topology.pci_links").seen, "and 4 more");
  EXPECT_HAS(find(f, "topology.pci_links").advice, "only traffic with the CPU");
}

/// A GPU and a card below a switch, each with a bridge of its own, as in Oracle's file for BM.GPU.H100
/// (oracle-quickstart/oci-hpc, samples/gpu/H100-topology.xml).
std::string nested_bridges(const std::string& outer, const std::string& above_gpu, const std::string& nvlinks) {
  const auto bridge = [](const std::string& busid, const std::string& speed) {
    return fmt::format("<pci busid=\"{}\" class=\"0x060400\" link_speed=\"{}\" link_width=\"16\">\n", busid, speed);
  };
  return "<system version=\"1\">\n<cpu numaid=\"0\">\n" + bridge("0000:08:00.0", outer) +
         bridge("0000:0d:00.0", above_gpu) +
         "<pci busid=\"0000:0f:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
         "<gpu dev=\"0\" sm=\"90\">\n" +
         nvlinks + "</gpu>\n</pci>\n</pci>\n" + bridge("0000:0a:00.0", "32.0 GT/s PCIe") +
         "<pci busid=\"0000:0c:00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
         "<nic>\n<net name=\"mlx5_0\" dev=\"0\" "
         "speed=\"180000\"/>\n</nic>\n</pci>\n</pci>\n</pci>\n</cpu>\n</system>\n";
}

TEST(TopologyLint, TheLinkOfASwitchIsForTheCpuAloneWhereGpuAndCardMeetBelowIt) {
  const std::string fast = "32.0 GT/s PCIe", slow = "5.0 GT/s PCIe";
  const std::string nvlinks = "<nvlink target=\"0000:1c:00.0\" count=\"18\" tclass=\"0x068000\"/>\n";
  const Finding uplink = find(lint(nested_bridges(slow, fast, nvlinks)), "topology.pci_links");
  EXPECT_EQ(uplink.state, FindingState::warning);
  EXPECT_EQ(uplink.seen, "bridge (0000:08:00.0) \"5.0 GT/s PCIe\" x16: 6.0 GB/s to NCCL");
  EXPECT_EQ(uplink.advice.find("reseat"), std::string::npos);
  const Finding way = find(lint(nested_bridges(fast, slow, nvlinks)), "topology.pci_links");
  EXPECT_EQ(way.state, FindingState::bad) << "the GPU's way to its card";
  EXPECT_EQ(way.seen, "bridge (0000:0d:00.0) \"5.0 GT/s PCIe\" x16: 6.0 GB/s to NCCL");
  EXPECT_EQ(find(lint(nested_bridges(slow, fast, "")), "topology.pci_links").state, FindingState::bad)
      << "GPUs without NVLink reach each other through it";
}

/// Two A100 below one switch, as AWS's file for p4d has them (aws/aws-ofi-nccl, topology/p4d-24xl-topo.xml).
std::string two_gpus(const std::string& first, const std::string& second, int lanes = 16) {
  const auto a100 = [&](const char* busid, const std::string& speed) {
    return fmt::format(
        "<pci busid=\"{}\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b0\" link_speed=\"{}\" "
        "link_width=\"{}\"/>\n",
        busid, speed, lanes);
  };
  return "<system version=\"1\">\n<cpu numaid=\"0\">\n"
         "<pci busid=\"ffff:ff:01.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n" +
         a100("0000:10:1c.0", first) + a100("0000:10:1d.0", second) + "</pci>\n</cpu>\n</system>\n";
}

TEST(TopologyLint, GpusInSlotsOfAnOlderGenerationAreAWarningWhereAllAre) {
  const Finding alike = find(lint(two_gpus("8 GT/s", "8 GT/s")), "topology.pci_links");
  EXPECT_EQ(alike.state, FindingState::warning);
  EXPECT_HAS(alike.seen, "GPU (0000:10:1c.0) \"8 GT/s\" x16: 12.0 GB/s to NCCL");
  EXPECT_EQ(alike.expected, "24.0 GB/s");
  EXPECT_EQ(alike.advice.find("reseat"), std::string::npos);
  const Finding slow = find(lint(two_gpus("5 GT/s", "5 GT/s")), "topology.pci_links");
  EXPECT_EQ(slow.state, FindingState::bad) << "two generations less is no slot of a machine that takes such GPUs";
  const std::string half = two_gpus("16 GT/s", "16 GT/s", 8);
  EXPECT_EQ(find(lint(half), "topology.pci_links").state, FindingState::bad) << "lanes are missing";
  const Finding one = find(lint(two_gpus("16 GT/s", "8 GT/s")), "topology.pci_links");
  EXPECT_EQ(one.state, FindingState::bad);
  EXPECT_EQ(one.seen, "GPU (0000:10:1d.0) \"8 GT/s\" x16: 12.0 GB/s to NCCL");
  EXPECT_HAS(one.advice, "reseat");
}

// As dumps of other programs have it: NCCL knows "32 GT/s" and "32.0 GT/s PCIe", and takes 8 GT/s for this.
TEST(TopologyLint, ASpeedThatNcclDoesNotKnow) {
  const Findings f = lint(with(topology_text("dgx-h100.xml"), "\"32.0 GT/s PCIe\"", "\"32.0 GT/s\""));
  EXPECT_HAS(find(f, "topology.pci_links").seen, "bridge (0000:15:00.0) \"32.0 GT/s\" x16: 12.0 GB/s to NCCL");
}

TEST(TopologyLint, AGpuWithoutNvlinksAmongSiblings) {
  std::string text = topology_text("dgx-h100.xml");
  const std::size_t from = text.find("<nvlink"), to = text.find("</gpu>");
  text.erase(from, to - from);
  EXPECT_EQ(find(lint(text), "topology.nvlinks").seen, "GPU 0 (0000:1b:00.0) 0 NVLinks");
}

TEST(TopologyLint, DevicesThatTheProfileHasAndTheFileLacks) {
  std::string text = topology_text("dgx-h100.xml");
  const std::size_t from = text.find("      <pci busid=\"0000:1b:00.0\""), to = text.find("      </pci>", from) + 13;
  text.erase(from, to - from);
  const Findings f = lint(text, "dgx-h100-infiniband");
  EXPECT_EQ(find(f, "topology.gpus").seen, "7 GPUs");
  EXPECT_EQ(find(f, "topology.gpus").expected, "8 (dgx-h100-infiniband)");
  EXPECT_HAS(complaints(f), "topology.numa");
  EXPECT_HAS(complaints(f), "topology.locality");  // its card has no GPU nearby now
  EXPECT_EQ(find(f, "topology.sharing").state, FindingState::warning);
}

TEST(TopologyLint, CardsThatTheProfileNamesAndTheFileLacks) {
  const Findings f = lint(topology_text("dgx-h100.xml"), "ibm-infiniband");
  EXPECT_EQ(find(f, "topology.cards").state, FindingState::bad);
  EXPECT_EQ(find(f, "topology.cards").seen, "8 network ports, without mlx5_1, mlx5_2, mlx5_7");
}

TEST(TopologyLint, NamesAndNumbersThatAreThereTwice) {
  const std::string text = topology_text("dgx-h100.xml");
  EXPECT_EQ(find(lint(with(text, "0000:43:00.0", "0000:1b:00.0")), "topology.unique").seen,
            "busid 0000:1b:00.0 (line 9, line 24)");
  EXPECT_EQ(find(lint(with(text, "name=\"mlx5_3\"", "name=\"mlx5_0\"")), "topology.unique").seen,
            "net mlx5_0 (line 6, line 21)");
  EXPECT_EQ(find(lint(with(text, "numaid=\"1\"", "numaid=\"0\"")), "topology.unique").state, FindingState::bad);
}

/// Dumps of GB200 and GB300 have all hosts of the NVLink domain; bus ids and numbers are those of each host. Made from
/// what a public report tells of two trays of GB300.
std::string two_trays(int nvlinks_of_last) {
  std::string text = "<system version=\"1\">\n";
  for (int tray = 0; tray < 2; ++tray) {
    text += fmt::format("<cpu host_hash=\"0x{}\" numaid=\"0\" arch=\"arm64\">\n", tray + 1);
    for (int gpu = 0; gpu < 2; ++gpu) {
      text += fmt::format(
          "<pci busid=\"000{}:06:00.0\" class=\"0x030200\" link_speed=\"64.0 GT/s PCIe\" link_width=\"16\">\n"
          "<gpu dev=\"{}\" sm=\"103\" rank=\"{}\">\n<nvlink target=\"fffffff:ff:ff.0\" count=\"{}\" "
          "tclass=\"0x068000\"/>\n</gpu>\n</pci>\n",
          8 + gpu, gpu, 2 * tray + gpu, tray + gpu == 2 ? nvlinks_of_last : 18);
    }
    text += "</cpu>\n";
  }
  return text + "</system>\n";
}

TEST(TopologyLint, HostsOfOneNvlinkDomainAreJudgedForThemselves) {
  const Findings alike = lint(two_trays(18));
  EXPECT_EQ(complaints(alike), "topology.hosts");
  EXPECT_EQ(find(alike, "topology.hosts").seen, "2 hosts of one NVLink domain, each judged for itself");
  EXPECT_EQ(find(alike, "topology.gpus").seen, "2 GPUs");
  EXPECT_EQ(find(alike, "topology.unique").state, FindingState::ok);
  Findings sick = lint(two_trays(17));
  std::erase_if(sick, [](const Finding& f) { return f.state != FindingState::bad; });
  ASSERT_EQ(sick.size(), 1U);
  EXPECT_EQ(sick[0].seen, "host 0x2: GPU 1 (0009:06:00.0) 17 NVLinks");
  const std::string twice = with(two_trays(18), "0009:06:00.0", "0008:06:00.0");
  EXPECT_EQ(find(lint(twice), "topology.unique").seen, "host 0x1: busid 0008:06:00.0 (line 3, line 8)");
}

TEST(TopologyCompare, DevicesOfTheirHosts) {
  const NodeTopology good = parse_topology(two_trays(18), "a"), sick = parse_topology(two_trays(17), "b");
  EXPECT_EQ(differences(good, good), std::vector<std::string>());
  EXPECT_EQ(differences(good, sick), std::vector<std::string>{"GPU 1 (0009:06:00.0) of host 2: NVLinks 18, there 17"});
  const std::vector<NodeTopology> hosts = hosts_of(sick);
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(differences(hosts[0], hosts[1]), std::vector<std::string>{"GPU 1 (0009:06:00.0): NVLinks 18, there 17"});
}

TEST(TopologyCompare, ACpuWithoutAHashIsOfTheFirstHost) {
  EXPECT_EQ(hosts_of(parse_topology(with(two_trays(18), " host_hash=\"0x2\"", ""), "a")).size(), 1U);
  EXPECT_EQ(hosts_of(parse_topology(with(two_trays(18), " host_hash=\"0x1\"", ""), "a")).size(), 1U);
}

// As NVIDIA's design note on NCCL and MLOPart has them on Vera Rubin.
TEST(TopologyLint, PartsOfAGpuAreOneDevice) {
  const std::string text =
      "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"arm64\">\n"
      "<pci busid=\"0002:81:00.0\" class=\"0x030200\" link_speed=\"64.0 GT/s PCIe\" link_width=\"16\">\n"
      "<gpu dev=\"0\" sm=\"107\" mlopart=\"0\" rank=\"0\">\n</gpu>\n"
      "<gpu dev=\"0\" sm=\"107\" mlopart=\"1\" rank=\"1\">\n</gpu>\n</pci>\n</cpu>\n</system>\n";
  const Findings f = lint(text);
  EXPECT_EQ(complaints(f), "topology.parts");
  EXPECT_EQ(find(f, "topology.parts").seen, "0002:81:00.0: 2 <gpu>");
  EXPECT_EQ(find(f, "topology.gpus").seen, "1 GPUs");
  EXPECT_EQ(parse_topology(text, "a.xml").cpus[0].devices[0].gpu->rank, 0);
}

TEST(TopologyLint, CpusAndKeepsThatNcclDoesNotKnow) {
  const std::string text = topology_text("dgx-h100.xml");
  EXPECT_EQ(find(lint(with(text, "GenuineIntel", "KVMKVMKVM")), "topology.cpus").seen,
            "NUMA node 0: vendor \"KVMKVMKVM\"");
  EXPECT_EQ(find(lint(with(text, "x86_64", "riscv64")), "topology.cpus").seen, "NUMA node 0: arch \"riscv64\"");
  EXPECT_HAS(find(lint(with(text, "\"143\"", "\"6\"")), "topology.cpus").seen, "modelid 6, which is older");
  EXPECT_HAS(find(lint(with(text, "class=", "keep=\"yes\" class=")), "topology.keep").seen, "keep=\"yes\"");
}

TEST(TopologyLint, PathsBetweenDevices) {
  const NodeTopology t = topology("dgx-h100.xml");
  const Places p(t);
  EXPECT_EQ(path_type(p.gpus[0], p.nics[0]), PathType::pix);
  EXPECT_EQ(path_type(p.gpus[0], p.nics[1]), PathType::phb);
  EXPECT_EQ(path_type(p.gpus[0], p.nics[7]), PathType::sys);
  EXPECT_EQ(path_type(p.gpus[0], p.gpus[0]), PathType::same);
  EXPECT_DOUBLE_EQ(link_gbs(*p.gpus[0].device()), 48);
  EXPECT_DOUBLE_EQ(cpu_link_gbs(*p.gpus[0].cpu), 22);  // Sapphire Rapids' UPI to NCCL
}

TEST(TopologyCompare, SaysWhatDiffers) {
  const NodeTopology good = topology("dgx-h100.xml"), sick = topology("dgx-h100-sick.xml");
  EXPECT_EQ(compare(good, good).state, FindingState::ok);
  const std::vector<std::string> expected = {"mlx5_3 (0000:40:00.0): gdr 1, there 0",
                                             "GPU 2 (0000:52:00.0): NVLinks 18, there 17",
                                             "GPU 5 (0000:c3:00.0): link 32.0 GT/s PCIe x16, there 16.0 GT/s PCIe x16",
                                             "mlx5_10 (0000:ce:00.0): rate 400000 Mb/s, there 200000 Mb/s"};
  EXPECT_EQ(differences(good, sick), expected);
  EXPECT_EQ(compare(good, sick).state, FindingState::bad);
}

// Bus ids of virtual machines differ from one to the next.
TEST(TopologyCompare, ByOrderWhereBusIdsDiffer) {
  const NodeTopology good = topology("dgx-h100.xml");
  std::string text = topology_text("dgx-h100-sick.xml");
  for (std::size_t at = 0; (at = text.find("busid=\"0000:", at)) != std::string::npos; ++at) text[at + 7] = '7';
  const auto found = differences(good, parse_topology(text, "b"));
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[3], "mlx5_10 (0000:ce:00.0): rate 400000 Mb/s, there 200000 Mb/s");
}

TEST(Graphs, AreReadWhole) {
  const GraphDump dump = parse_graphs(topology_text("graph-8x400.xml"), "g.xml");
  ASSERT_EQ(dump.graphs.size(), 5U);
  const ChannelGraph* ring = dump.find(0);
  ASSERT_NE(ring, nullptr);
  EXPECT_EQ(ring->name(), "ring");
  EXPECT_EQ(ring->channels.size(), 8U);
  EXPECT_DOUBLE_EQ(ring->inter_gbs, 48);
  EXPECT_EQ(ring->channels[2].nets, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(ring->channels[2].gpus.front(), 2);
  const GraphDump hex = parse_graphs(with(with(topology_text("graph-8x400.xml"), "net dev=\"0\"", "net dev=\"0x1f\""),
                                          "net dev=\"0\"", "net dev=\"1F\""),
                                     "g.xml");
  EXPECT_EQ(hex.find(0)->channels[0].nets, (std::vector<std::int64_t>{31, 31}));
}

TEST(Graphs, ErrorsNameFileLineAndAttribute) {
  const std::string text = topology_text("graph-8x400.xml");
  const auto refusal = [](const std::string& t) { return error_of([&] { parse_graphs(t, "g.xml"); }); };
  EXPECT_HAS(refusal(with(text, "nchannels=\"8\"", "nchannels=\"9\"")), "g.xml:2: <graph> nchannels = 9: expected 8");
  EXPECT_HAS(refusal(with(text, "dev=\"0\"", "dev=\"q\"")),
             "g.xml:4: <net> dev = \"q\": expected a hexadecimal number");
  EXPECT_HAS(refusal(with(text, "speedintra=\"48\"", "speedintra=\"fast\"")),
             "g.xml:2: <graph> speedintra = \"fast\": expected a number");
  EXPECT_HAS(refusal(topology_text("dgx-h100.xml")), "begins with <system>, expected <graphs>");
}

TEST(Graphs, AreDrawnAsTheyRun) {
  const auto drawn = [](int pattern, const std::string& card, const std::string& gpus) {
    const std::string text = "<graphs version=\"1\"><graph id=\"0\" pattern=\"" + std::to_string(pattern) +
                             "\" crossnic=\"1\" nchannels=\"1\" speedintra=\"20\" speedinter=\"20\" "
                             "typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"1\"><channel>" +
                             (card.empty() ? "" : "<net dev=\"0\"/>") + gpus +
                             (card.empty() ? "" : "<net dev=\"" + card + "\"/>") + "</channel></graph></graphs>";
    const std::string svg = to_svg(parse_graphs(text, "g.xml"), {});
    const auto count = [&](const std::string& part) {
      int found = 0;
      for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
      return found;
    };
    return std::array{count("<g class=\"nic\">"), count("<line class=\"net\""), count("<line class=\"nvlink\"")};
  };
  const std::string three = "<gpu dev=\"0\"/><gpu dev=\"1\"/><gpu dev=\"2\"/>";
  EXPECT_EQ(drawn(4, "0", three), (std::array{2, 2, 2})) << "a ring between cards";
  EXPECT_EQ(drawn(4, "", three), (std::array{0, 0, 5})) << "a ring of one node closes, below its boxes";
  EXPECT_EQ(drawn(3, "0", three), (std::array{1, 1, 2})) << "a tree leaves from its first GPU";
  EXPECT_EQ(drawn(2, "1", three), (std::array{2, 4, 2})) << "a split tree from its second";
}

TEST(Graphs, OfAHealthyNodeAreHealthy) {
  const GraphDump dump = parse_graphs(topology_text("graph-8x400.xml"), "g.xml");
  const NodeTopology node = topology("dgx-h100.xml");
  const ClusterProfile profile = read_profile("dgx-h100-infiniband");
  const Findings f = lint_graphs(dump, &node, &profile);
  EXPECT_EQ(complaints(f), "");
  EXPECT_EQ(find(f, "graph.ring.speed").seen, "8 channels of 48 GB/s to the cards: 384 GB/s a node");
  EXPECT_EQ(find(f, "graph.nearest").state, FindingState::ok);
  EXPECT_EQ(complaints(lint_graphs(dump, nullptr, &profile)), "");
  EXPECT_EQ(complaints(lint_graphs(dump, nullptr, nullptr)), "");
}

/// Rings of one GPU each between these cards.
std::string rings(int cross_nic, const std::vector<std::pair<int, int>>& cards) {
  std::string text = fmt::format(
      "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" crossnic=\"{}\" nchannels=\"{}\" speedintra=\"48\" "
      "speedinter=\"48\" typeintra=\"NVL\" typeinter=\"PXN\" samechannels=\"0\">",
      cross_nic, cards.size());
  for (const auto& [in, out] : cards) {
    text += fmt::format("<channel><net dev=\"{}\"/><gpu dev=\"0\"/><net dev=\"{}\"/></channel>", in, out);
  }
  return text + "</graph></graphs>";
}

TEST(Graphs, RingsThatAlternateBetweenTwoCardsStayInTheirRails) {
  const ClusterProfile profile = read_profile("dgx-h100-infiniband");
  const auto state = [&](int cross_nic, const std::vector<std::pair<int, int>>& cards) {
    const GraphDump dump = parse_graphs(rings(cross_nic, cards), "g.xml");
    return find(lint_graphs(dump, nullptr, &profile), "graph.crossing").state;
  };
  EXPECT_EQ(state(0, {{0, 0}, {1, 1}}), FindingState::ok);
  EXPECT_EQ(state(2, {{0, 1}, {1, 0}, {2, 3}, {3, 2}}), FindingState::ok) << "exchanged on every other node";
  EXPECT_EQ(state(2, {{0, 0}, {1, 1}}), FindingState::ok);
  EXPECT_EQ(state(2, {{0, 1}, {1, 0}, {2, 3}}), FindingState::warning) << "of an odd number NCCL exchanges none";
  EXPECT_EQ(state(2, {{0, 1}, {1, 2}}), FindingState::warning);
  EXPECT_EQ(state(1, {{0, 1}, {1, 0}}), FindingState::warning) << "NCCL_CROSS_NIC=1 exchanges none";
}

TEST(Graphs, OfASickNodeSayWhatIsSlow) {
  const GraphDump dump = parse_graphs(topology_text("graph-sick.xml"), "g.xml");
  const NodeTopology node = topology("dgx-h100.xml");
  const ClusterProfile profile = read_profile("dgx-h100-infiniband");
  const Findings f = lint_graphs(dump, &node, &profile);
  EXPECT_EQ(find(f, "graph.ring.speed").seen, "2 channels of 12 GB/s to the cards: 24 GB/s a node");
  EXPECT_EQ(find(f, "graph.ring.speed").expected, "about 384 GB/s, what the cards give together");
  EXPECT_EQ(find(f, "graph.ring.path").seen, "SYS to the cards");
  EXPECT_EQ(find(f, "graph.tree.path").seen, "PHB to the cards");
  EXPECT_EQ(find(f, "graph.crossing").state, FindingState::warning);
  EXPECT_EQ(find(f, "graph.cards").seen, "3 cards carry rings or trees");
  EXPECT_EQ(find(f, "graph.nvls").state, FindingState::warning);
  EXPECT_HAS(find(f, "graph.nearest").seen, "ring 0: GPU 4 and net 0 SYS");
  EXPECT_EQ(find(lint_graphs(dump, nullptr, nullptr), "graph.nvls").state, FindingState::absent);
}

}  // namespace
}  // namespace octet::test
