// octet tune placement: simulates a run's collectives on the nodes that it may get, in the orders that they may have.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "jobs/octet/commands.h"
#include "jobs/octet/tune/option_values.h"
#include "jobs/octet/tune/placement_nodes.h"
#include "jobs/octet/tune/placement_table.h"
#include "jobs/octet/tune/tools.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/options/byte_size.h"
#include "src/base/progress.h"
#include "src/cluster/profile.h"
#include "src/cluster/slurm_topology.h"

namespace octet::tune {
namespace {

constexpr std::string_view placement_usage =
    "usage: octet tune placement --cluster NAME --size SIZE --nodes N [--topology FILE] [OPTIONS]\n"
    "       octet tune placement --cluster NAME --size SIZE --node-list HOSTS [--node-list HOSTS]... [OPTIONS]\n\n"
    "What the choice and the order of nodes cost where rings share links: the collective of all groups of one "
    "dimension\n"
    "of the mesh pp x dp_replicate x dp_shard x tp at once, simulated flow by flow on the network of the cluster's "
    "profile\n"
    "(section network).\n\n"
    "With --nodes the nodes are those that Slurm might choose: packed (the fewest leaves), split (half of them at "
    "each\n"
    "end of the cluster), spread (over all leaves). The cluster's nodes are those of --topology, or n1, n2, ..., leaf "
    "by\n"
    "leaf. With --node-list they are given; without --topology the last number in a name tells the leaf.\n\n"
    "slow-down: against as many nodes with all their cards on one leaf, where no link between nodes is shared.\n\n"
    "Example, a 2:1 oversubscribed cluster and a node without two of its cards:\n"
    "  octet tune placement --cluster dgx-h100-infiniband --cluster.network.oversubscription 2 --nodes 64 \\\n"
    "      --collective all_gather --size 1G --tp 8 --lost-rails 2@n5\n";

struct Options {
  ProfileOverrides overrides;
  std::string cluster, topology, collective = "all_gather", algorithm = "ring", dimension, size;
  std::vector<std::string> set, node_lists, orders, lost;
  int nodes = 0, tp = 1, dp_replicate = 1, pp = 1;
  std::int64_t seed = 1;
  std::int64_t most_blocks = SimulateOptions{}.most_blocks;
  bool json = false;
};

/// Nothing after --help.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options o;
  Schema schema;
  schema.add("cluster", o.cluster)
      .help("A name under configs/clusters, or a file; --cluster.section.key VALUE changes a key of it.");
  schema.add("set", o.set).several().help("KEY=VALUE: the old form of --cluster.KEY VALUE.");
  add_count(schema, "nodes", o.nodes).help("Nodes of the job.");
  schema.add("node-list", o.node_lists)
      .several()
      .help("The job's nodes, as Slurm lists them: n[1-8,40]; several lists of one length are compared.");
  schema.add("topology", o.topology).help("What `scontrol show topology` printed, in a file.");
  schema.add("collective", o.collective)
      .help(
          "One of all_gather, reduce_scatter, all_reduce; send: what neighbouring stages of a pipeline send each "
          "other.");
  schema.add("size", o.size).help("Bytes of a group, as nccl-tests count them, or of a message: 256M, 1GiB, 500MB.");
  schema.add("algo", o.algorithm).help("Of the messages in a group: ring; tree, for all_reduce.");
  add_count(schema, "tp", o.tp).help("Degree of tensor parallelism.");
  add_count(schema, "dp-replicate", o.dp_replicate).help("Replicas; dp_shard is the rest.");
  add_count(schema, "pp", o.pp).help("Degree of pipeline parallelism.");
  schema.add("dimension", o.dimension)
      .help(
          "Whose groups: world, pp, dp_replicate, dp_shard, dp, tp; default: dp_shard, for all_reduce with replicas "
          "dp_replicate, for send pp.");
  schema.add("order", o.orders)
      .several()
      .help("Of the nodes: slurm (as listed), topology (leaf by leaf), random; may be repeated; default: all three.");
  schema.add("seed", o.seed).at_least(0).help("Of the random order.");
  schema.add("lost-rails", o.lost).several().help("COUNT@HOST: so many cards of a node are gone.");
  schema.add("most-blocks", o.most_blocks)
      .at_least(1)
      .help("Blocks to simulate a placement; beyond, the rest goes on as it began.");
  schema.add_flag("json", o.json).help("One JSON object.");
  std::vector<std::string> words = arguments;
  o.overrides = take_profile_overrides(words);
  if (!parse_words(words, placement_usage, schema)) return std::nullopt;
  if (o.cluster.empty()) throw usage_error("octet", "which cluster? --cluster NAME (octet tune placement --help)");
  if (o.size.empty()) throw usage_error("octet", "how much? --size 256M");
  if ((o.nodes > 0) == !o.node_lists.empty()) throw usage_error("octet", "expected one of --nodes and --node-list");
  return o;
}

/// Without leaves of its own the profile has those of the topology: a switch is as large as the largest of them.
ClusterProfile profile_of(const Options& o, const SlurmTopology* topology) {
  ProfileOverrides overrides = o.overrides;
  for (const std::string& assignment : o.set) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) throw usage_error("octet", "--set {}: expected KEY=VALUE", assignment);
    add_override(overrides, assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  std::size_t leaf_nodes = 0;
  if (topology != nullptr) {
    for (const SlurmTopology::Leaf& leaf : topology->leaves) leaf_nodes = std::max(leaf_nodes, leaf.hosts.size());
  }
  return read_profile(o.cluster, overrides, static_cast<std::int64_t>(leaf_nodes));
}

Workload workload_of(const Options& o) {
  Workload w;
  w.collective = value_of("--collective", o.collective, parse_simulated_collective);
  w.algorithm = value_of("--algo", o.algorithm, parse_simulated_algorithm);
  w.bytes = parse_bytes(o.size, "--size");
  w.mesh = {.pp = o.pp, .dp_replicate = o.dp_replicate, .tp = o.tp};
  const bool replicas = w.collective == Collective::all_reduce && o.dp_replicate > 1;
  w.dimension = !o.dimension.empty() ? value_of("--dimension", o.dimension, parse_dimension)
                : !w.collective      ? Dimension::pp
                : replicas           ? Dimension::dp_replicate
                                     : Dimension::dp_shard;
  return w;
}

std::vector<RankOrder> orders_of(const Options& o) {
  if (o.orders.empty()) return {RankOrder::slurm, RankOrder::topology, RankOrder::random};
  std::vector<RankOrder> orders;
  for (const std::string& name : o.orders) orders.push_back(value_of("--order", name, parse_rank_order));
  return orders;
}

PlacementCost cost_with_progress(const FlowNetwork& shape, const Placement& placement, const Workload& workload,
                                 std::int64_t most_blocks) {
  SimulateOptions options{.most_blocks = most_blocks, .progress = {}};
  Progress progress(fmt::format("simulating {}, {}:", placement.name, placement.order),
                    simulated_bytes(traffic_of(shape, placement.nodes, workload), options));
  options.progress = [&](std::int64_t bytes) { progress.advance(bytes); };
  return cost_of(shape, placement, workload, options);
}

}  // namespace

int run_placement(const std::vector<std::string>& arguments) {
  const auto o = parse(arguments);
  if (!o) return 0;
  const std::optional<SlurmTopology> file = read_slurm_topology(o->topology);
  const SlurmTopology* topology = file ? &*file : nullptr;
  const ClusterProfile profile = profile_of(*o, topology);
  const FlowNetwork shape = shape_of(profile);
  const Workload workload = workload_of(*o);
  const std::vector<NodeSet> sets =
      chosen_sets({.nodes = o->nodes, .lists = o->node_lists, .lost = o->lost}, topology, profile, shape);

  const Placement healthy{"healthy", "one leaf", uncontended(sets.front().nodes)};
  PlacementReport report{.cluster = profile.name, .shape = shape, .workload = workload, .healthy_us = 0, .rows = {}};
  report.healthy_us = cost_with_progress(uncontended(shape), healthy, workload, o->most_blocks).simulation.us;
  for (const Placement& placement : placements(sets, orders_of(*o), o->seed)) {
    report.rows.push_back({placement, cost_with_progress(shape, placement, workload, o->most_blocks)});
  }
  log::write_out(o->json ? to_json(report) : to_text(report));
  return 0;
}

}  // namespace octet::tune
