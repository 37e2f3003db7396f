#include <gtest/gtest.h>

#include <random>

#include "src/topology/compare_topology.h"
#include "src/topology/draw.h"
#include "src/topology/format_lint.h"
#include "src/topology/graph_dump.h"
#include "src/topology/topology_lint.h"
#include "tests/data/support.h"
#include "tests/topology/topology_support.h"

namespace octet::test {
namespace {

const char* const node_files[] = {"dgx-h100.xml",        "dgx-h100-sick.xml", "vm-flat.xml",   "vm-dual-port.xml",
                                  "vm-slow-bridges.xml", "p5-efa.xml",        "cloud-file.xml"};

TEST(TopologyXml, ADgxIsReadWhole) {
  const NodeTopology t = topology("dgx-h100.xml");
  ASSERT_EQ(t.cpus.size(), 2U);
  EXPECT_EQ(t.cpus[1].numa, 1);
  EXPECT_EQ(t.cpus[0].model, 143);
  ASSERT_EQ(t.cpus[0].devices.size(), 4U);
  const PciDevice& bridge = t.cpus[0].devices[1];
  EXPECT_TRUE(bridge.is_bridge());
  EXPECT_EQ(bridge.busid, "0000:3d:00.0");
  ASSERT_EQ(bridge.children.size(), 2U);
  const PciDevice &nic = bridge.children[0], &gpu = bridge.children[1];
  ASSERT_TRUE(nic.is_nic());
  EXPECT_EQ(nic.nets[0].name, "mlx5_3");
  EXPECT_EQ(nic.nets[0].mbps, 400000);
  EXPECT_EQ(nic.nets[0].gdr, true);
  ASSERT_TRUE(gpu.is_gpu());
  EXPECT_EQ(gpu.gpu->sm, 90);
  EXPECT_EQ(gpu.line, 24);
  EXPECT_EQ(nvlink_count(gpu), 18);
  EXPECT_EQ(gpu.gpu->nvlinks->at(0).target_class, "0x068000");
  EXPECT_DOUBLE_EQ(link_gbs(gpu), 48.0);
}

// A file of a cloud has no <gpu> and no <nic>: PCI classes say what is what, and NVLinks stay unknown.
TEST(TopologyXml, ClassesTellDevicesOfAFileThatIsNoDump) {
  const NodeTopology node = topology("cloud-file.xml");
  const Places places(node);
  EXPECT_EQ(places.gpus.size(), 8U);
  EXPECT_EQ(places.nics.size(), 8U);
  EXPECT_FALSE(nvlink_count(*places.gpus[0].device()).has_value());
  EXPECT_DOUBLE_EQ(link_gbs(*places.nics[0].device()), 48.0);
}

TEST(TopologyXml, WhatIsWrittenReadsBackAndIsAsNcclWantsIt) {
  for (const char* file : node_files) {
    const NodeTopology before = topology(file);
    const std::string text = to_nccl_xml(before);
    const NodeTopology after = parse_topology(text, file);
    EXPECT_EQ(differences(before, after), std::vector<std::string>()) << file;
    EXPECT_EQ(to_nccl_xml(after), text);
    EXPECT_EQ(complaints(lint_format(text, file)), "") << file;
    EXPECT_EQ(text.find("rank="), std::string::npos);
    EXPECT_EQ(text.find("host_hash"), std::string::npos);
  }
}

TEST(TopologyXml, ErrorsNameFileLineAndAttribute) {
  const std::string text = topology_text("dgx-h100.xml");
  const auto refusal = [](const std::string& t) { return error_of([&] { parse_topology(t, "a.xml"); }); };
  EXPECT_HAS(refusal(with(text, "version=\"1\"", "version=\"2\"")), "a.xml:1: <system> version = 2: expected 1");
  EXPECT_HAS(refusal(with(text, " version=\"1\"", "")), "a.xml:1: <system> has no attribute version");
  EXPECT_HAS(refusal(with(text, "link_width=\"16\"", "link_width=\"wide\"")),
             "a.xml:3: <pci> link_width = \"wide\": expected an integer");
  EXPECT_HAS(refusal(with(text, "busid=\"0000:15:00.0\" ", "")), "a.xml:3: <pci> has no attribute busid");
  EXPECT_HAS(refusal(with(text, "gdr=\"1\"", "gdr=\"7\"")), "a.xml:6: <net> gdr = 7: expected 0 or 1");
  EXPECT_HAS(refusal("<topology version=\"1\"/>"), "a.xml: begins with <topology>, expected <system>");
  EXPECT_HAS(refusal("<system version=\"1\"/>"), "has no <cpu>");
  EXPECT_HAS(refusal(text.substr(0, 1400)), "a.xml:18: not XML");
  EXPECT_HAS(refusal(""), "not XML");
  EXPECT_HAS(
      [&] {
        std::string deep = "<system version=\"1\">";
        for (int i = 0; i < 100; ++i) deep += "<cpu numaid=\"0\">";
        for (int i = 0; i < 100; ++i) deep += "</cpu>";
        return refusal(deep + "</system>");
      }(),
      "deep, expected at most 64");
}

// NCCL reads its files by a parser of its own, which stops at what any other takes.
TEST(TopologyFormat, WhatNcclsReaderStumblesOver) {
  const std::string text = topology_text("dgx-h100.xml");
  const auto seen = [](const std::string& t) { return find(lint_format(t, "a.xml"), "topology.format").seen; };
  EXPECT_EQ(complaints(lint_format(text, "a.xml")), "");
  EXPECT_EQ(seen("<?xml version=\"1.0\"?>\n" + text), "line 1: a declaration <?...?>");
  EXPECT_EQ(seen(with(text, "    <pci", "\t<pci")), "line 3: a tab");
  EXPECT_EQ(seen(with(text, " class=", "\n class=")), "line 3: a line break inside a tag");
  EXPECT_EQ(seen("<!-- a\ttab\n in <?a comment?> -->\n" + text), "as NCCL's reader wants it");
}

TEST(TopologyFormat, LimitsOfNcclsTables) {
  const std::string head = "<system version=\"1\">\n  <cpu numaid=\"0\">\n", tail = "  </cpu>\n</system>\n";
  const auto with_devices = [&](int count) {
    std::string text = head;
    for (int i = 0; i < count; ++i) text += fmt::format("    <pci busid=\"0000:{:02x}:00.0\"/>\n", i);
    return text + tail;
  };
  EXPECT_EQ(complaints(lint_format(with_devices(128), "a")), "");
  EXPECT_EQ(complaints(lint_format(with_devices(129), "a")), "topology.children");
  EXPECT_EQ(complaints(lint_format(with_devices(254), "a")), "topology.elements topology.children");
  std::string many = head + "    <pci busid=\"0000:00:00.0\"";
  for (int i = 0; i < 16; ++i) many += fmt::format(" a{}=\"\"", i);
  EXPECT_EQ(complaints(lint_format(many + "/>\n" + tail, "a")), "topology.attributes");
  const std::string longer = head + "    <pci busid=\"" + std::string(255, '0') + "\"/>\n" + tail;
  EXPECT_EQ(complaints(lint_format(longer, "a")), "topology.values");
  const Findings unknown = lint_format(head + "    <pcie busid=\"0000:00:00.0\"/>\n" + tail, "a");
  EXPECT_EQ(find(unknown, "topology.unknown").seen, "1 of them: a:3: <pcie>");
}

/// Everything that the command does with a file.
void use(const std::string& text) {
  const NodeTopology t = parse_topology(text, "fuzz");
  lint_format(text, "fuzz");
  lint_topology(t, nullptr);
  to_text(t);
  to_svg(t);
  parse_topology(to_nccl_xml(t), "again");
}

void use_graphs(const std::string& text) {
  static const NodeTopology node = topology("dgx-h100.xml");
  const GraphDump dump = parse_graphs(text, "fuzz");
  lint_graphs(dump, &node, nullptr);
  to_text(dump);
}

/// One to four random changes of bytes, pieces and numbers.
std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
  static const std::string pieces[] = {"\"",     "<",     "/>", "-1", "99999999999999999999", "</pci>",
                                       "<gpu/>", "=\"\"", "0x", "&",  "<pci busid=\"1\">"};
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, below(40));
        break;
      case 2:
        text.insert(at, pieces[below(std::size(pieces))]);
        break;
      default:
        text.insert(at, text.substr(below(text.size()), below(300)));
    }
  }
  return text;
}

// A wrong file gives an error of ours, whatever is wrong; some mutants are still topologies and go all the way.
TEST(TopologyFuzz, WrongFilesAreRefusedAndNeverCrash) {
  std::mt19937 random(20261122);
  int accepted = 0, refused = 0;
  const auto try_one = [&](const auto& action, const std::string& text) {
    try {
      action(text);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
      EXPECT_HAS(error.what(), "[topology] ");
      ++refused;
    }
  };
  for (const char* file : node_files) {
    const std::string text = topology_text(file);
    for (int i = 0; i < 300; ++i) try_one(use, mutated(text, random));
  }
  for (const char* file : {"graph-8x400.xml", "graph-sick.xml"}) {
    const std::string text = topology_text(file);
    for (int i = 0; i < 300; ++i) try_one(use_graphs, mutated(text, random));
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace octet::test
