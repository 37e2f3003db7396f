#include "jobs/octet/tune/fit_output.h"

#include <nlohmann/json.hpp>

#include "src/base/log.h"
#include "src/tuning/cost_model/size_text.h"

namespace octet::tune {
namespace {

using Json = nlohmann::ordered_json;

std::string with_error(double value, double error) {
  return error > value ? fmt::format("{:.4g} ± more", value) : fmt::format("{:.4g} ± {:.2g}", value, error);
}

std::string algorithm_text(const FittedGroup& group) {
  if (!group.algorithm && !group.protocol) return "(library's choice)";
  return fmt::format("{}/{}", group.algorithm ? name_of(*group.algorithm) : "any",
                     group.protocol ? name_of(*group.protocol) : "any");
}

void print_group(const FittedGroup& group) {
  const std::string head = fmt::format("{:<15} {:<18} {:>4} x {:<3}", name_of(group.collective), algorithm_text(group),
                                       group.shape.nodes, group.shape.ranks_per_node);
  if (!group.fit) {
    log::out("{} not fitted: {}", head, group.why_not);
    return;
  }
  const AlphaBeta& fit = *group.fit;
  // fmt counts the two bytes of the sign as one column.
  log::out("{} {:>17} {:>17} {:>5} {:>5} {:>7.1f}   {} to {}", head, with_error(fit.alpha_us, fit.alpha_error_us),
           with_error(fit.beta_gbs, fit.beta_error_gbs), fit.rows, fit.left_out.size(), 100 * fit.noise,
           size_text(fit.bytes_from), size_text(fit.bytes_to));
}

std::string upper_limit(std::int64_t bytes) {
  return bytes == 0 ? "any size" : "below " + size_text(bytes);
}

void print_choice(const TunedChoice& choice) {
  log::out("  {} on {} x {}, {} to {}: {}/{}, {}", name_of(choice.collective), choice.nodes_from, choice.ranks_per_node,
           size_text(choice.bytes_from), upper_limit(choice.bytes_to), name_of(choice.algorithm),
           name_of(choice.protocol), choice.reason);
}

Json group_json(const FittedGroup& group) {
  Json json{{"collective", name_of(group.collective)},
            {"algorithm", group.algorithm ? Json(name_of(*group.algorithm)) : Json(nullptr)},
            {"protocol", group.protocol ? Json(name_of(*group.protocol)) : Json(nullptr)},
            {"nodes", group.shape.nodes},
            {"ranks_per_node", group.shape.ranks_per_node},
            {"points", group.points.size()}};
  if (!group.fit) {
    json["not_fitted"] = group.why_not;
    return json;
  }
  const AlphaBeta& fit = *group.fit;
  json["alpha_us"] = fit.alpha_us;
  json["alpha_error_us"] = fit.alpha_error_us;
  json["beta_gbs"] = fit.beta_gbs;
  json["beta_error_gbs"] = fit.beta_error_gbs;
  json["noise"] = fit.noise;
  json["rows"] = fit.rows;
  json["left_out"] = Json::array();
  for (const std::size_t i : fit.left_out) {
    json["left_out"].push_back(Json{{"source", group.sources.at(i)},
                                    {"bytes", group.points.at(i).bytes},
                                    {"time_us", group.points.at(i).microseconds},
                                    {"fitted_us", fit.us(static_cast<double>(group.points.at(i).bytes))}});
  }
  return json;
}

}  // namespace

void print_text(const ClusterFit& fit) {
  const TuningFile& tuning = fit.tuning;
  log::out("cluster {} ({}), NCCL {}: time = alpha + bytes / beta, ± one standard error\n", tuning.cluster,
           tuning.fabric, tuning.nccl);
  log::out("{:<15} {:<18} {:>4}   {:<3} {:>17} {:>17} {:>5} {:>5} {:>7}   {}", "collective", "algorithm", "nodes",
           "ranks", "alpha (us)", "beta (GB/s)", "rows", "out", "noise %", "sizes");
  for (const FittedGroup& group : fit.groups) print_group(group);
  const std::string without = fit.has_model ? " none" : fmt::format(" no model of NCCL {} is known", tuning.nccl);
  log::out("\nconstants of NCCL's model that the fits change:{}", fit.constants.empty() ? without : "");
  for (const std::string& line : fit.constants) log::out("  {}", line);
  log::out("choices where measurement contradicts the model:{}", tuning.choices.empty() ? without : "");
  for (const TunedChoice& choice : tuning.choices) print_choice(choice);
  std::vector<std::string> notes = tuning.provenance.notes;
  std::erase_if(notes, [&](const std::string& note) {
    return std::find(fit.constants.begin(), fit.constants.end(), note) != fit.constants.end();
  });
  if (!notes.empty()) log::out("notes:");
  for (const std::string& note : notes) log::out("  {}", note);
}

void print_json(const ClusterFit& fit) {
  Json json;
  json["groups"] = Json::array();
  for (const FittedGroup& group : fit.groups) json["groups"].push_back(group_json(group));
  json["sick"] = Json::array();
  for (const PairSweep& sweep : fit.sweeps) {
    for (const SickNode& n : sweep.report.nodes) {
      json["sick"].push_back(Json{{"node", n.node}, {"slowdown", n.slowdown}, {"pairs", n.pairs}, {"of", sweep.what}});
    }
    for (const SickLink& l : sweep.report.links) {
      json["sick"].push_back(Json{{"link", {l.first, l.second}}, {"slowdown", l.slowdown}, {"of", sweep.what}});
    }
  }
  json["tuning"] = Json::parse(to_json(fit.tuning));
  log::out("{}", json.dump(-1, ' ', false, Json::error_handler_t::replace));  // names of files may be no UTF-8
}

}  // namespace octet::tune
