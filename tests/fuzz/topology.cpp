// Topologies of nodes, as NCCL writes them.
#include "src/topology/graph_dump.h"
#include "src/topology/nccl_xml.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

const std::string samples = "tests/topology/samples/";

/// What is taken stays the same written down and read again.
void read_topology(const std::string& text) {
  const std::string written = to_nccl_xml(parse_topology(text, "input.xml"));
  expect_same(written, to_nccl_xml(parse_topology(written, "written.xml")));
}

void read_dump(const std::string& text) {
  const GraphDump dump = parse_graphs(text, "input.xml");
  to_svg(dump, lint_graphs(dump, nullptr, nullptr));
  to_text(dump);
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"topology", read_topology, files({samples + "dgx-h100.xml", samples + "vm-flat.xml"})},
      {"graphs", read_dump, files({samples + "graph-8x400.xml", samples + "graph-sick.xml"})},
  };
  return all;
}

}  // namespace octet::fuzz
