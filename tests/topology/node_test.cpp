// Discovery by hwloc and /sys, drawings, and the command.
#include <gtest/gtest.h>

#include "src/topology/discover.h"
#include "src/topology/draw.h"
#include "src/topology/topology_lint.h"
#include "tests/data/support.h"
#include "tests/support/run_command.h"
#include "tests/topology/topology_support.h"

namespace octet {
namespace {

using test::CommandResult;
using test::complaints;
using test::error_of;
using test::find;
using test::read_bytes;
using test::run_command;
using test::TempFolder;
using test::topology;
using test::topology_text;
using test::write_bytes;

/// A machine of two NUMA nodes in a folder: below each a root port, a PCIe switch with two ports, a GPU and a card. As
/// `lstopo --of xml` and /sys show it.
class TwoNodes {
 public:
  TwoNodes() {
    const char* cpus[] = {"0x00000003", "0x0000000c"};
    std::string text =
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x0000000f\" "
        "complete_cpuset=\"0x0000000f\" allowed_cpuset=\"0x0000000f\" nodeset=\"0x00000003\" "
        "complete_nodeset=\"0x00000003\" allowed_nodeset=\"0x00000003\" gp_index=\"1\">"
        "<info name=\"Architecture\" value=\"x86_64\"/>";
    for (int n = 0; n < 2; ++n) {
      const std::string sets = fmt::format(
          "cpuset=\"{0}\" complete_cpuset=\"{0}\" nodeset=\"0x0000000{1}\" complete_nodeset=\"0x0000000{1}\"", cpus[n],
          n + 1);
      text += fmt::format("<object type=\"Package\" os_index=\"{}\" {} gp_index=\"{}\">", n, sets, next_++);
      text +=
          "<info name=\"CPUVendor\" value=\"GenuineIntel\"/><info name=\"CPUFamilyNumber\" value=\"6\"/>"
          "<info name=\"CPUModelNumber\" value=\"143\"/>";
      text += fmt::format("<object type=\"NUMANode\" os_index=\"{}\" {} gp_index=\"{}\"/>", n, sets, next_++);
      for (int c = 0; c < 2; ++c) {
        const std::string set = fmt::format(
            "cpuset=\"0x{0:08x}\" complete_cpuset=\"0x{0:08x}\" nodeset=\"0x0000000{1}\" "
            "complete_nodeset=\"0x0000000{1}\"",
            1 << (2 * n + c), n + 1);
        text += fmt::format("<object type=\"PU\" os_index=\"{}\" {} gp_index=\"{}\"/>", 2 * n + c, set, next_++);
      }
      text += pci_tree(n) + "</object>";
    }
    write_bytes(folder_ / "commands/hwloc.xml", text + "</object></topology>");
    write_bytes(folder_ / "proc/sys/kernel/hostname", "node-17\n");
  }

  /// Overwrites a file of a device in /sys.
  void set(const std::string& busid, const std::string& file, const std::string& text) const {
    write_bytes(folder_ / ("sys/bus/pci/devices/" + busid + "/" + file), text + "\n");
  }
  std::string path() const { return folder_.path(); }
  NodeTopology discover() const {
    const Machine machine(folder_.path());
    return octet::discover(machine);
  }

 private:
  std::string pci_tree(int n) {
    const auto bus = [&](int b) { return fmt::format("0000:{:02x}:00.0", 0x10 + 0x80 * n + b); };
    const std::string name = fmt::format("mlx5_{}", n);
    std::string text = fmt::format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[{:02x}-{:02x}]\">",
        next_++, 0x10 + 0x80 * n, 0x1f + 0x80 * n);
    text += bridge(n, bus(0), 1);
    text += bridge(n, bus(1), 2);
    text += bridge(n, bus(2), 3);
    text += device(bus(4), "0302 [10de:2330] [10de:16c1] a1") + "</object></object>";
    text += bridge(n, bus(3), 3);
    text += device(bus(5), "0207 [15b3:1021] [15b3:0023] 00");
    text += fmt::format("<object type=\"OSDev\" gp_index=\"{}\" name=\"{}\" osdev_type=\"3\"/>", next_++, name);
    text += "</object></object></object></object></object>";
    const std::string port = "sys/class/infiniband/" + name + "/ports/1/";
    write_bytes(folder_ / (port + "rate"), "400 Gb/sec (4X NDR)\n");
    write_bytes(folder_ / (port + "state"), "4: ACTIVE\n");
    return text;
  }

  std::string bridge(int n, const std::string& busid, int depth) {
    describe(busid, "0x060400");
    return fmt::format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"1-1\" depth=\"{}\" "
        "bridge_pci=\"0000:[{:02x}-{:02x}]\" pci_busid=\"{}\" pci_type=\"0604 [1000:c030] [1000:100b] 00\" "
        "pci_link_speed=\"63.0\">",
        next_++, depth, 0x11 + 0x80 * n, 0x1f + 0x80 * n, busid);
  }

  std::string device(const std::string& busid, const std::string& type) {
    describe(busid, "0x" + type.substr(0, 4) + "00");
    return fmt::format(
        "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"{}\" pci_type=\"{}\" pci_link_speed=\"63.0\">", next_++,
        busid, type);
  }

  void describe(const std::string& busid, const std::string& device_class) const {
    set(busid, "class", device_class);
    for (const char* kind : {"max", "current"}) {
      set(busid, std::string(kind) + "_link_speed", "32.0 GT/s PCIe");
      set(busid, std::string(kind) + "_link_width", "16");
    }
  }

  TempFolder folder_;
  int next_ = 2;
};

TEST(TopologyNode, IsDiscoveredAsNcclWouldSeeIt) {
  const NodeTopology t = TwoNodes().discover();
  EXPECT_EQ(t.source, "node-17");
  ASSERT_EQ(t.cpus.size(), 2U);
  EXPECT_EQ(t.cpus[1].affinity, "0000000c");
  EXPECT_EQ(t.cpus[1].vendor, "GenuineIntel");
  EXPECT_EQ(t.cpus[1].model, 143);
  // Of root port, upstream and downstream port NCCL sees the upstream port alone.
  ASSERT_EQ(t.cpus[0].devices.size(), 1U);
  const PciDevice& switched = t.cpus[0].devices[0];
  EXPECT_EQ(switched.busid, "0000:11:00.0");
  ASSERT_EQ(switched.children.size(), 2U);
  EXPECT_EQ(switched.children[0].busid, "0000:14:00.0");
  EXPECT_TRUE(switched.children[0].is_gpu());
  EXPECT_EQ(switched.children[0].link_speed, "32.0 GT/s PCIe");
  EXPECT_FALSE(nvlink_count(switched.children[0]).has_value());
  ASSERT_EQ(switched.children[1].nets.size(), 1U);
  EXPECT_EQ(switched.children[1].nets[0].name, "mlx5_0");
  EXPECT_EQ(switched.children[1].nets[0].mbps, 400000);
  const Findings f = lint_topology(t, nullptr);
  EXPECT_EQ(complaints(f), "");
  EXPECT_EQ(find(f, "topology.nvlinks").state, FindingState::absent);
  EXPECT_EQ(find(f, "topology.nvlinks").seen, "not known without the driver");
}

TEST(TopologyNode, LinksThatRunSlowerThanTheyCan) {
  const TwoNodes machine;
  machine.set("0000:14:00.0", "current_link_width", "8");
  machine.set("0000:95:00.0", "current_link_speed", "16.0 GT/s PCIe");
  machine.set("0000:94:00.0", "current_link_speed", "2.5 GT/s PCIe");  // an idle GPU
  const Findings f = lint_topology(machine.discover(), nullptr);
  EXPECT_EQ(find(f, "topology.pci_links").seen,
            "GPU 0 (0000:14:00.0) runs with 8 lanes of 16; mlx5_1 (0000:95:00.0) runs at 16.0 GT/s PCIe");
}

TEST(TopologyNode, TheSlowerEndOfALinkCounts) {
  const TwoNodes machine;
  machine.set("0000:12:00.0", "max_link_speed", "16.0 GT/s PCIe");  // the port above GPU 0
  const NodeTopology t = machine.discover();
  EXPECT_EQ(t.cpus[0].devices[0].children[0].link_speed, "16.0 GT/s PCIe");
}

TEST(TopologyNode, ASnapshotWithoutHwlocIsRefused) {
  const TempFolder folder;
  EXPECT_HAS(error_of([&] { discover(Machine(folder.path())); }), "expected commands/hwloc.xml");
}

TEST(TopologyDrawing, TextOfANode) {
  const std::string text = to_text(topology("dgx-h100-sick.xml"));
  EXPECT_HAS(text,
             "dgx-h100-sick.xml: 8 GPUs, 8 network ports, 2 NUMA nodes\n"
             "NUMA node 0  x86_64 GenuineIntel family 6 model 143  22 GB/s to the others\n"
             "├─ switch             0000:15:00.0  48.0 GB/s (32.0 GT/s PCIe x16)\n");
  EXPECT_HAS(text,
             "GPU 2              0000:52:00.0  48.0 GB/s (32.0 GT/s PCIe x16)  17 NVLinks to 4 NVSwitches, 350.2 GB/s  "
             "!! 17 NVLinks, expected 18\n");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

TEST(TopologyDrawing, SvgOfNodesIsXmlWithAllDevicesAndMarks) {
  const std::string good = to_svg(topology("dgx-h100.xml")), sick = to_svg(topology("dgx-h100-sick.xml"));
  for (const std::string& svg : {good, sick, to_svg(topology("p5-efa.xml")), to_svg(topology("vm-flat.xml"))}) {
    XmlFile(svg, "svg").root("svg");
    EXPECT_EQ(svg.find("http", svg.find("<style>")), std::string::npos);  // nothing from outside
    EXPECT_GE(count(svg, ">GPU "), 8U);
  }
  EXPECT_EQ(count(good, "<g class=\"gpu\">"), 8U);
  EXPECT_EQ(count(good, "<g class=\"nic\">"), 8U);
  EXPECT_EQ(count(good, "class=\"sick\""), 0U);
  EXPECT_EQ(count(sick, "<g class=\"sick\">"), 4U);
  EXPECT_EQ(count(sick, "class=\"bad\""), 2U);  // a PCI link and NVLinks
  EXPECT_HAS(good, "NVLink, 4 NVSwitches");
  EXPECT_EQ(count(to_svg(topology("p5-efa.xml")), "<g class=\"nic\">"), 32U);
}

TEST(TopologyDrawing, Networks) {
  const std::string vela = cluster_text(read_profile("ibm-infiniband"), 64);
  EXPECT_HAS(vela, "ibm-infiniband: 64 nodes, 512 GPUs H100 SXM\n");
  EXPECT_HAS(vela, "32 nodes on 8 leaves, one a card; 12.8 Tb/s down, 12.8 Tb/s up (1:1)");
  EXPECT_HAS(vela, "└─ nodes 32 to 63  (leaves 8 to 15)\n");
  const std::string teton = cluster_text(read_profile("grand-teton"), 800);
  EXPECT_HAS(teton, "175.5 Tb/s to other pods (7:1)");
  EXPECT_HAS(teton, "400 Gb/s below its leaf, 400 between leaves, 57 between pods");
  EXPECT_HAS(teton, "pod 2: nodes 768 to 799 on 16 groups of leaves");
  EXPECT_HAS(teton, "├─ ... 185 more\n");
  for (const char* name : {"ibm-infiniband", "grand-teton", "ibm-roce", "aws-p5-efa", "dgx-h100-infiniband"}) {
    const std::string svg = cluster_svg(read_profile(name), 100);
    XmlFile(svg, name).root("svg");
    EXPECT_HAS(svg, std::string(name) + ": 100 nodes");
  }
  EXPECT_EQ(count(cluster_svg(read_profile("ibm-infiniband"), 64), "<g class=\"leaf\">"), 16U);
}

const std::string tool = OCTET_BIN_DIR "/octet tune topology ";
const std::string fixtures = OCTET_SOURCE_DIR "/tests/topology/samples/";

TEST(TopologyCommand, ExitCodesAndFiles) {
  const TempFolder folder;
  const CommandResult good =
      run_command(tool + fixtures + "dgx-h100.xml --cluster dgx-h100-infiniband --graph " + fixtures +
                  "graph-8x400.xml --svg " + (folder / "a.svg") + " --xml " + (folder / "a.xml"));
  EXPECT_EQ(good.exit_code, 0) << good.all();
  EXPECT_HAS(good.out, "ring: 8 channels of 48 GB/s over NVL, 48 GB/s over PXN to the cards\n");
  EXPECT_HAS(good.out, " 0 warning, 0 bad, 0 not present");
  XmlFile(read_bytes(folder / "a.svg"), "a.svg").root("svg");
  EXPECT_EQ(run_command(tool + (folder / "a.xml") + " --quiet --compare " + fixtures + "dgx-h100.xml").exit_code, 0);
  const CommandResult sick =
      run_command(tool + fixtures + "dgx-h100-sick.xml --quiet --compare " + fixtures + "dgx-h100.xml");
  EXPECT_EQ(sick.exit_code, 76);
  EXPECT_HAS(sick.out, "bad         topology.same");
  EXPECT_EQ(sick.out.find("ok          "), std::string::npos);
  const CommandResult json = run_command(tool + fixtures + "vm-flat.xml --json");
  EXPECT_EQ(json.exit_code, 76);
  EXPECT_HAS(json.out, "\"check\":\"topology.locality\"");
}

TEST(TopologyCommand, GraphsAreDrawn) {
  const TempFolder folder;
  const std::string drawn = folder / "graphs.svg";
  EXPECT_EQ(run_command(tool + "--graph " + fixtures + "graph-8x400.xml --svg " + drawn).exit_code, 0);
  const std::string good = read_bytes(drawn);
  XmlFile(good, drawn).root("svg");
  EXPECT_EQ(good.find("http", good.find("<style>")), std::string::npos) << "nothing from outside";
  EXPECT_HAS(good, ">ring: 8 channels of 48 GB/s over NVL, 48 GB/s over PXN to the cards<");
  EXPECT_EQ(count(good, "class=\"bad\"") + count(good, "class=\"warn\""), 0U);
  EXPECT_EQ(run_command(tool + "--graph " + fixtures + "graph-sick.xml --svg " + drawn).exit_code, 76);
  const std::string sick = read_bytes(drawn);
  XmlFile(sick, drawn).root("svg");
  EXPECT_GT(count(sick, "class=\"bad\""), 0U);
  EXPECT_HAS(sick, ">graph.ring.path: SYS to the cards, expected PIX or PXB<");
  EXPECT_HAS(sick, ">net 5<");  // a ring that leaves by another card
}

TEST(TopologyCommand, AGraphDumpGivenAsATopologyIsNamed) {
  const std::string graph = fixtures + "graph-8x400.xml", node = fixtures + "dgx-h100.xml";
  const std::string compared = node + " --compare " + graph;
  for (const std::string& arguments : {graph, compared}) {
    const CommandResult r = run_command(tool + arguments);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, "begins with <graphs>, expected a topology (<system>); for graphs: --graph " + graph);
  }
}

TEST(TopologyCommand, NodesAndNetworks) {
  const TwoNodes machine;
  const CommandResult node = run_command(tool + "--node --root " + machine.path());
  EXPECT_EQ(node.exit_code, 0) << node.all();
  EXPECT_HAS(node.out, "node-17: 2 GPUs, 2 network ports, 2 NUMA nodes");
  const CommandResult lacking = run_command(tool + "--node --cluster ibm-infiniband --root " + machine.path());
  EXPECT_EQ(lacking.exit_code, 76);
  EXPECT_HAS(lacking.out, "expected: 8 (ibm-infiniband)");
  const CommandResult here = run_command("HWLOC_SYNTHETIC='pack:2 [numa] core:4 pu:1' " + tool + "--node");
  EXPECT_EQ(here.exit_code, 0) << here.all();
  EXPECT_HAS(here.out, "0 GPUs, 0 network ports, 2 NUMA nodes");
  EXPECT_HAS(here.out, "not present topology.gpus         no GPU");
  const CommandResult network = run_command(tool + "--cluster grand-teton --nodes 8");
  EXPECT_EQ(network.exit_code, 0) << network.all();
  EXPECT_HAS(network.out, "grand-teton: 8 nodes, 64 GPUs");
}

TEST(TopologyCommand, OptionsThatDoNotGoTogetherAreRefused) {
  const std::string file = fixtures + "dgx-h100.xml";
  const std::vector<std::string> wrong = {"",
                                          file + " --node",
                                          "--cluster local",
                                          "--nodes 4",
                                          file + " --nodes 4",
                                          "--cluster ibm-roce --nodes 0",
                                          "--cluster ibm-roce --xml a",
                                          "--root / " + file,
                                          "--cluster ibm-roce --json",
                                          fixtures + "no.xml",
                                          file + " --graph " + file};
  for (const std::string& arguments : wrong) {
    const CommandResult r = run_command(tool + arguments);
    EXPECT_EQ(r.exit_code, 64) << arguments << "\n" << r.all();
  }
}

}  // namespace
}  // namespace octet
