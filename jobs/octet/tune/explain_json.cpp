#include <nlohmann/json.hpp>

#include "jobs/octet/tune/explain_output.h"
#include "src/base/log.h"

namespace octet::tune {
namespace {

using Json = nlohmann::ordered_json;

Json graph_json(const SearchedGraph& graph) {
  return {{"channels", graph.channels}, {"intra_gbs", graph.intra_gbs}, {"inter_gbs", graph.inter_gbs}};
}

Json question_json(const Answer& answer) {
  const Question& asked = answer.question;
  const SearchedGraphs graphs = search_graphs(asked.machine, asked.shape);
  return {{"collective", name_of(asked.collective)},
          {"bytes", asked.bytes},
          {"nodes", asked.shape.nodes},
          {"ranks_per_node", asked.shape.ranks_per_node},
          {"nccl", to_text(asked.version)},
          {"machine", answer.machine_source},
          {"tuning", answer.tuning_source.empty() ? Json(nullptr) : Json(answer.tuning_source)},
          {"graphs",
           {{"ring", graph_json(graphs.ring)}, {"tree", graph_json(graphs.tree)}, {"nvls", graph_json(graphs.nvls)}}}};
}

Json alternative_json(const Alternative& x) {
  Json json{{"algorithm", name_of(x.algorithm)}, {"protocol", name_of(x.protocol)}, {"time_us", x.us}};
  if (x.us < 0) {
    json["excluded"] = x.excluded;
  } else {
    json["busbw_gbs"] = x.bus_gbs;
    json["latency_us"] = x.latency_us;
  }
  return json;
}

Json health_json(const Health& health, bool fitted) {
  return {{"busbw_gbs", health.bus_gbs},
          {"share", health.share},
          {"threshold_gbs", health.threshold_gbs},
          {"threshold_share", healthy_share},
          {"threshold_launch_us", fitted ? 0 : launch_us},
          {"healthy", health.healthy && health.impossible_nic_gbs == 0},
          {"possible", health.impossible_nic_gbs == 0},
          {"nearest", health.nearest ? alternative_json(*health.nearest) : Json(nullptr)}};
}

}  // namespace

void print_json(const Answer& answer) {
  const Explanation& told = answer.explanation;
  Json json = question_json(answer);
  json["choice"] = {{"algorithm", name_of(told.choice.algorithm)},
                    {"protocol", name_of(told.choice.protocol)},
                    {"time_us", told.choice.us},
                    {"busbw_gbs", told.bus_gbs},
                    {"wire_gbs_per_nic", told.wire.gbs()},
                    {"wire_sent_gbs_per_nic", told.wire.sent_gbs},
                    {"wire_received_gbs_per_nic", told.wire.received_gbs},
                    {"nics", told.nics},
                    {"from_bytes", told.range.from},
                    {"to_bytes", told.range.to}};
  if (!told.pinned.empty()) json["choice"]["pinned"] = told.pinned;
  if (told.fit) {
    json["choice"]["fit"] = {{"basis", told.fit->basis},
                             {"low_us", told.fit->low_us},
                             {"high_us", told.fit->high_us},
                             {"extrapolated", told.fit->extrapolated}};
  }
  json["assumes"] = answer.assumptions;
  for (const Alternative& x : told.alternatives) json["alternatives"].push_back(alternative_json(x));
  if (answer.health) json["measured"] = health_json(*answer.health, told.fit.has_value());
  log::out("{}", json.dump());
}

}  // namespace octet::tune
