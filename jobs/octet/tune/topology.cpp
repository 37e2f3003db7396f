// octet tune topology: what NCCL is told of a node and a network, what is wrong with it, drawn as text and SVG.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "jobs/octet/commands.h"
#include "jobs/octet/tune/option_values.h"
#include "jobs/octet/tune/tools.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/cluster/doctor/node_report.h"
#include "src/topology/compare_topology.h"
#include "src/topology/discover.h"
#include "src/topology/domain_hosts.h"
#include "src/topology/draw.h"
#include "src/topology/format_lint.h"
#include "src/topology/graph_dump.h"
#include "src/topology/nccl_xml.h"
#include "src/topology/topology_lint.h"
#include "src/topology/xml_fields.h"

namespace octet::tune {
namespace {

constexpr std::string_view topology_usage =
    "usage: octet tune topology FILE [--cluster NAME] [--graph FILE] [--compare FILE] [--svg FILE] [--xml FILE]\n"
    "       octet tune topology --node ...\n"
    "       octet tune topology --graph FILE [--cluster NAME] [--svg FILE]\n"
    "       octet tune topology --cluster NAME [--nodes N] [--svg FILE]\n\n"
    "FILE is a topology of NCCL (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE), --graph what its search made of it\n"
    "(NCCL_GRAPH_DUMP_FILE). Draws the node as a tree and says what is wrong, held against a cluster's profile if one\n"
    "is given. --node looks at this machine. Without a node the network of the profile is drawn. Exit code 0 where\n"
    "nothing is bad, else 76.\n";

struct Options {
  ProfileOverrides overrides;
  std::string file, graph, cluster, compare, svg, xml, root = "/";
  int nodes = 0;
  bool node = false, json = false, quiet = false;

  bool has_topology() const { return node || !file.empty(); }
};

void check(const Options& o, bool root_given) {
  if (o.node && !o.file.empty()) throw usage_error("octet", "--node and {} exclude each other", o.file);
  if (root_given && !o.node) throw usage_error("octet", "--root needs --node");
  if (!o.has_topology() && o.graph.empty() && o.cluster.empty()) {
    throw usage_error("octet", "expected a FILE, --node, --graph or --cluster; --help explains");
  }
  for (const auto& [name, value] : {std::pair("--compare", o.compare), std::pair("--xml", o.xml)}) {
    if (!value.empty() && !o.has_topology()) throw usage_error("octet", "{} needs a FILE or --node", name);
  }
  const bool network = !o.has_topology() && o.graph.empty();
  if (o.nodes > 0 && !network) {
    throw usage_error("octet", "--nodes is for a cluster's network: it excludes FILE, --node and --graph");
  }
  if (o.json && (network || o.quiet))
    throw usage_error("octet", "--json is for findings of FILE, --node or --graph, without --quiet");
  if (o.quiet && network) throw usage_error("octet", "--quiet is for findings of FILE, --node or --graph");
}

/// Nothing after --help.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options o;
  Schema schema;
  schema.add("file", o.file).help("Topology XML of a node; the same without --file.");
  schema.add_flag("node", o.node).help("This machine, by hwloc and /sys.");
  schema.add("root", o.root).help("With --node: a snapshot of a machine in this folder.");
  schema.add("graph", o.graph).help("Graphs of NCCL's search on that node.");
  schema.add("cluster", o.cluster)
      .help(
          "What it should be: a name under configs/clusters, or a file; --cluster.section.key VALUE changes a key of "
          "it.");
  add_count(schema, "nodes", o.nodes).help("Nodes of the network to draw; default: all of the profile, or 64.");
  schema.add("compare", o.compare).help("Another node's topology, that should be the same.");
  schema.add("svg", o.svg).help("Draw into this file: the node; with --graph alone its graphs; else the network.");
  schema.add("xml", o.xml).help("Write the topology as NCCL reads it, for NCCL_TOPO_FILE; of several hosts the first.");
  schema.add_flag("json", o.json).help("Findings as one JSON object on one line, as octet doctor --json.");
  schema.add_flag("quiet", o.quiet).help("Findings alone, and of those what is not ok.");
  std::vector<std::string> words = arguments;
  o.overrides = take_profile_overrides(words);
  if (!parse_words(words, topology_usage, schema, "file", 1)) return std::nullopt;
  check(o, schema.find("root")->is_set());
  check_overrides(o.cluster, o.overrides);
  return o;
}

void write_file(const std::string& path, const std::string& text) {
  if (!overwrite_text(path, text)) throw not_written("octet", path);
  log::info("wrote {}", path);
}

int draw_network(const Options& o, const ClusterProfile& profile) {
  const std::int64_t nodes = o.nodes > 0 ? o.nodes : profile.nodes.count > 0 ? profile.nodes.count : 64;
  log::write_out(cluster_text(profile, nodes));
  if (!o.svg.empty()) write_file(o.svg, cluster_svg(profile, nodes));
  return 0;
}

void append(Findings& all, const Findings& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// The text of a topology file; a graph dump, written at the same time, is easily taken for one.
std::string read_topology_text(const std::string& path) {
  std::string text = read_xml_text(path);
  if (XmlFile(text, path).root_name() == "graphs") {
    throw usage_error("octet", "{0}: begins with <graphs>, expected a topology (<system>); for graphs: --graph {0}",
                      path);
  }
  return text;
}

/// Reads a topology file; its format's findings are added.
NodeTopology read_topology(const std::string& path, Findings& findings) {
  const std::string text = read_topology_text(path);
  NodeTopology topology = parse_topology(text, path);
  append(findings, lint_format(text, path));
  return topology;
}

int print(const Options& o, const std::string& name, Findings findings) {
  const int code = static_cast<int>(healthy(findings) ? ExitCode::finished : ExitCode::unhealthy);
  if (o.json) {
    log::out("{}", to_json(NodeReport{.node = name, .time = 0, .versions = {}, .findings = findings}));
    return code;
  }
  const auto count = [&](FindingState s) { return std::ranges::count(findings, s, &Finding::state); };
  const std::string summary =
      fmt::format("{} ok, {} warning, {} bad, {} not present", count(FindingState::ok), count(FindingState::warning),
                  count(FindingState::bad), count(FindingState::absent));
  if (o.quiet)
    std::erase_if(findings,
                  [](const Finding& f) { return f.state == FindingState::ok || f.state == FindingState::absent; });
  log::write_out(to_text(findings));
  log::out("{}", summary);
  return code;
}

}  // namespace

int run_topology(const std::vector<std::string>& arguments) {
  const auto o = parse(arguments);
  if (!o) return 0;
  std::optional<ClusterProfile> profile;
  if (!o->cluster.empty()) profile = read_profile(o->cluster, o->overrides);
  const ClusterProfile* expected = profile ? &*profile : nullptr;
  if (!o->has_topology() && o->graph.empty()) return draw_network(*o, *profile);

  Findings findings;
  std::optional<NodeTopology> topology;
  if (o->node) topology = discover(Machine(o->root));
  if (!o->file.empty()) topology = read_topology(o->file, findings);
  if (topology) {
    if (!o->json && !o->quiet) log::write_out(to_text(*topology));
    append(findings, lint_topology(*topology, expected));
    if (!o->compare.empty())
      findings.push_back(compare(*topology, parse_topology(read_topology_text(o->compare), o->compare)));
    if (!o->svg.empty()) write_file(o->svg, to_svg(*topology));
    if (!o->xml.empty()) write_file(o->xml, to_nccl_xml(hosts_of(*topology).front()));
  }
  if (!o->graph.empty()) {
    const GraphDump dump = parse_graphs(read_xml_text(o->graph), o->graph);
    if (!o->json && !o->quiet) log::write_out(to_text(dump));
    const Findings found = lint_graphs(dump, topology ? &*topology : nullptr, expected);
    if (!o->svg.empty() && !topology) write_file(o->svg, to_svg(dump, found));
    append(findings, found);
  }
  return print(*o, topology ? topology->source : o->graph, std::move(findings));
}

}  // namespace octet::tune
