#include "src/topology/format_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "src/base/options/text.h"
#include "src/topology/xml_fields.h"

namespace octet {
namespace {

constexpr int most_attributes = 16, most_children = 128, longest_value = 254;
// One less than NCCL's tables hold: it looks for room before it reads any further tag, also the last closing one.
constexpr int most_topology_elements = 255, most_graph_elements = 4095;

/// Children that NCCL reads, by element.
const std::map<std::string, std::set<std::string>> known_children = {
    {"system", {"cpu"}},    {"cpu", {"pci", "nic"}},    {"pci", {"pci", "gpu", "nic", "pcilink"}},
    {"nic", {"net"}},       {"gpu", {"nvlink", "c2c"}}, {"graphs", {"graph"}},
    {"graph", {"channel"}}, {"channel", {"net", "gpu"}}};

struct Census {
  int elements = 0, attributes = 0, children = 0;
  std::size_t value = 0;
  std::vector<std::string> unknown;  // "topo.xml:3: <cpus>"
};

void count(const XmlFile& file, pugi::xml_node node, Census& census) {
  ++census.elements;
  const auto attributes = std::distance(node.attributes_begin(), node.attributes_end());
  census.attributes = std::max(census.attributes, static_cast<int>(attributes));
  for (const pugi::xml_attribute a : node.attributes()) {
    census.value = std::max(census.value, std::string_view(a.value()).size());
  }
  const auto found = known_children.find(node.name());
  int children = 0;
  for (const pugi::xml_node child : node.children()) {
    if (found != known_children.end() && found->second.contains(child.name())) {
      ++children;
      count(file, child, census);
    } else {
      census.unknown.push_back(file.place(child));
    }
  }
  census.children = std::max(census.children, children);
}

/// The first thing in the text at which NCCL's reader stops; empty when there is none.
std::string first_stumble(const std::string& text) {
  int line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 4, "<!--") == 0) {
      const std::size_t end = std::min(text.find("-->", i), text.size());
      line += static_cast<int>(
          std::count(text.begin() + static_cast<long>(i), text.begin() + static_cast<long>(end), '\n'));
      i = end + 2;
      continue;
    }
    if (text.compare(i, 2, "<?") == 0) return fmt::format("line {}: a declaration <?...?>", line);
    if (text[i] == '\t') return fmt::format("line {}: a tab", line);
    if (text[i] == '\n') {
      const std::size_t last = text.find_last_not_of(" \r\n", i);
      const bool inside = last != std::string::npos && text[last] != '>';
      if (inside) return fmt::format("line {}: a line break inside a tag", line);
      ++line;
    }
  }
  return "";
}

Finding limit(const char* what, int seen, int most, const char* advice) {
  const std::string check = std::string("topology.") + what;
  if (seen <= most) return good(check, fmt::format("{} of at most {}", seen, most));
  return {check, FindingState::bad, std::to_string(seen), fmt::format("at most {}, the size of NCCL's tables", most),
          advice};
}

}  // namespace

Findings lint_format(const std::string& text, const std::string& source) {
  const XmlFile file(text, source);
  pugi::xml_node root;
  const bool graphs = text.find("<graphs") != std::string::npos;
  root = file.root(graphs ? "graphs" : "system");
  Census census;
  count(file, root, census);
  Findings findings;
  const std::string stumble = first_stumble(text);
  if (stumble.empty()) {
    findings.push_back(good("topology.format", "as NCCL's reader wants it"));
  } else {
    findings.push_back({"topology.format", FindingState::bad, stumble,
                        "elements with spaces and line breaks between them, attributes with one space between them",
                        "NCCL fails to start with this file; octet tune topology FILE --xml NEW writes it anew"});
  }
  findings.push_back(limit("elements", census.elements, graphs ? most_graph_elements : most_topology_elements,
                           "leave out devices that training does not use"));
  findings.push_back(limit("attributes", census.attributes, most_attributes, "NCCL ignores the rest of them"));
  findings.push_back(limit("children", census.children, most_children, "put devices below their bridges"));
  findings.push_back(limit("values", static_cast<int>(census.value), longest_value, "NCCL fails on a longer value"));
  if (!census.unknown.empty()) {
    findings.push_back({"topology.unknown", FindingState::warning,
                        fmt::format("{} of them: {}", census.unknown.size(), census.unknown.front()),
                        "elements that NCCL knows in this place", "NCCL ignores it and all that is in it"});
  }
  return findings;
}

}  // namespace octet
