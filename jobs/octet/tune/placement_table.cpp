#include "jobs/octet/tune/placement_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/base/progress.h"
#include "src/cluster/host_list.h"

namespace octet::tune {
namespace {

constexpr std::size_t shown_flows = 3;

std::vector<PlacementRow> quickest_first(const PlacementReport& report) {
  std::vector<PlacementRow> rows = report.rows;
  std::ranges::stable_sort(rows, {}, [](const PlacementRow& row) { return row.cost.simulation.us; });
  return rows;
}

std::string flows_text(const PlacementCost& cost) {
  std::vector<std::string> flows;
  for (const auto& [from, to] : cost.flows) {
    if (flows.size() < shown_flows) flows.push_back(fmt::format("{}>{}", from, to));
  }
  return fmt::format("{} flow{}: {}{}", cost.flows.size(), cost.flows.size() == 1 ? "" : "s", fmt::join(flows, " "),
                     cost.flows.size() > shown_flows ? " ..." : "");
}

std::string link_text(const PlacementCost& cost) {
  return fmt::format("{} ({:.0f} GB/s, busy {:.0f} %), {}", cost.link.name, cost.link.gbs,
                     100 * cost.link_busy_us / cost.simulation.us, flows_text(cost));
}

/// "8 groups of dp_shard of 16 ranks".
std::string groups_text(const PlacementReport& report) {
  const Workload& w = report.workload;
  const int ranks = static_cast<int>(report.rows.front().placement.nodes.size()) * report.shape.gpus;
  const auto groups = groups_of(w.dimension, w.mesh, ranks);
  return fmt::format("{} group{} of {} with {} ranks", groups.size(), groups.size() == 1 ? "" : "s",
                     name_of(w.dimension), groups.front().size());
}

std::string network_text(const FlowNetwork& s) {
  std::string text = fmt::format("{} cards of {:.0f} GB/s a node", s.cards, s.card_gbs);
  if (s.leaf_nodes == 0) text += ", leaves not known (network.leaf_nodes, --topology FILE): taken as one";
  if (s.leaf_nodes > 0) text += fmt::format(", leaves of {} nodes, {:g}:1", s.leaf_nodes, s.oversubscription);
  if (s.pod_nodes > 0) text += fmt::format(", pods of {} nodes, {:g}:1", s.pod_nodes, s.pod_oversubscription);
  return text + (s.rails ? ", a leaf a rail" : "");
}

nlohmann::json json_of(const PlacementRow& row, const PlacementReport& report, double best_us) {
  const bool leaves_known = report.shape.leaf_nodes > 0;
  const PlacementCost& cost = row.cost;
  std::vector<std::string> hosts;
  for (const NodePlace& node : row.placement.nodes) hosts.push_back(node.host);
  nlohmann::json flows = nlohmann::json::array();
  for (const auto& [from, to] : cost.flows) flows.push_back({from, to});
  return {{"nodes", row.placement.name},
          {"order", row.placement.order},
          {"hosts", compress_hosts(hosts)},
          {"leaves", leaves_known ? nlohmann::json(cost.leaves) : nullptr},
          {"leaf_crossings", leaves_known ? nlohmann::json(cost.crossings) : nullptr},
          {"time_us", cost.simulation.us},
          {"busbw_gbs", cost.bus_gbs},
          {"slow_down", cost.simulation.us / report.healthy_us},
          {"over_best", cost.simulation.us / best_us},
          {"steps", cost.simulation.steps},
          {"simulated_steps", cost.simulation.simulated_steps},
          {"most_loaded_link",
           {{"name", cost.link.name}, {"gbs", cost.link.gbs}, {"busy_us", cost.link_busy_us}, {"flows", flows}}}};
}

}  // namespace

std::string to_text(const PlacementReport& report) {
  const Workload& w = report.workload;
  const std::vector<PlacementRow> rows = quickest_first(report);
  const std::string by = w.collective ? fmt::format(" by {}", name_of(w.algorithm)) : " both ways";
  std::string text = fmt::format("{} of {}{}, {} at once; {}: {}\n\n", name_of_traffic(w), format_bytes(w.bytes), by,
                                 groups_text(report), report.cluster, network_text(report.shape));
  std::size_t nodes = 5, order = 5;
  for (const PlacementRow& row : rows) {
    nodes = std::max(nodes, row.placement.name.size());
    order = std::max(order, row.placement.order.size());
  }
  text += fmt::format("{:<{}}  {:<{}}  leaves  crossings    time us  bus GB/s  slow-down  most loaded link\n", "nodes",
                      nodes, "order", order);
  const bool leaves_known = report.shape.leaf_nodes > 0;
  bool is_cut = false;
  for (const PlacementRow& row : rows) {
    const PlacementCost& c = row.cost;
    const std::string leaves = leaves_known ? std::to_string(c.leaves) : "?";
    const std::string crossings = leaves_known ? std::to_string(c.crossings) : "?";
    text += fmt::format("{:<{}}  {:<{}}  {:>6}  {:>9}  {:>9.1f}  {:>8.1f}  {:>9.2f}  {}\n", row.placement.name, nodes,
                        row.placement.order, order, leaves, crossings, c.simulation.us, c.bus_gbs,
                        c.simulation.us / report.healthy_us, link_text(c));
    is_cut = is_cut || c.simulation.simulated_steps < c.simulation.steps;
  }
  text += fmt::format(
      "\nslow-down: against {:.1f} us, what as many nodes take with all their cards and no link between nodes "
      "shared.\n",
      report.healthy_us);
  if (is_cut) {
    const Simulation& s = rows.front().cost.simulation;
    text += fmt::format(
        "simulated: the first {} of {} steps; the others are taken to go on like the second half of "
        "these (--most-blocks).\n",
        s.simulated_steps, s.steps);
  }
  text.pop_back();
  return text;
}

std::string to_json(const PlacementReport& report) {
  const Workload& w = report.workload;
  const std::vector<PlacementRow> rows = quickest_first(report);
  nlohmann::json placements = nlohmann::json::array();
  for (const PlacementRow& row : rows) placements.push_back(json_of(row, report, rows.front().cost.simulation.us));
  const nlohmann::json object = {{"cluster", report.cluster},           {"collective", name_of_traffic(w)},
                                 {"algorithm", name_of(w.algorithm)},   {"bytes", w.bytes},
                                 {"dimension", name_of(w.dimension)},   {"pp", w.mesh.pp},
                                 {"dp_replicate", w.mesh.dp_replicate}, {"tp", w.mesh.tp},
                                 {"healthy_us", report.healthy_us},     {"placements", placements}};
  return object.dump();
}

}  // namespace octet::tune
