#include "jobs/commbench/pairs_report.h"

#include <algorithm>
#include <array>

#include "jobs/commbench/local_ranks.h"
#include "src/base/progress.h"
#include "src/tuning/pairs/pair_sweeps.h"

namespace octet::commbench {
namespace {

using Json = nlohmann::ordered_json;

double gigabytes_a_second(std::int64_t bytes, double us) {
  return static_cast<double>(bytes) / us / 1e3;
}

Json print_matrix(const Report& report, const std::string& title, const Teams& teams, const PairTimes& times,
                  std::int64_t bytes) {
  report.comment(title);
  std::size_t wide = 8;
  for (const std::string& name : teams.names) wide = std::max(wide, name.size());
  std::string head = fmt::format("{:>{}}", "", wide);
  for (const std::string& name : teams.names) head += fmt::format(" {:>{}}", name, wide);
  report.comment(head);
  Json json = Json::array();
  for (int a = 0; a < times.nodes(); ++a) {
    std::string line = fmt::format("{:>{}}", teams.name(a), wide);
    Json row = Json::array();
    for (int b = 0; b < times.nodes(); ++b) {
      line += a == b ? fmt::format(" {:>{}}", "-", wide)
                     : fmt::format(" {:>{}.3f}", gigabytes_a_second(bytes, times.at(a, b)), wide);
      row.push_back(a == b ? Json(nullptr) : Json(times.at(a, b)));
    }
    report.comment(line);
    json.push_back(std::move(row));
  }
  return json;
}

/// Between whom bytes were wrong, and how many.
Json report_wrong(Report& report, const Teams& teams, const RankMatrix<std::int32_t>& wrong) {
  Json json = Json::array();
  for (int to = 0; to < teams.count(); ++to) {
    for (int from = 0; from < teams.count(); ++from) {
      std::int64_t bytes = 0;
      for (std::size_t k = 0; from != to && k < teams.members(to).size(); ++k) {
        bytes += wrong.at(teams.members(to)[k], teams.members(from)[k]);
      }
      if (bytes == 0) continue;
      report.add_wrong(bytes);
      report.comment(fmt::format("WRONG: {} byte(s) that {} received of {}", bytes, teams.name(to), teams.name(from)));
      json.push_back({{"from", teams.name(from)}, {"to", teams.name(to)}, {"bytes", bytes}});
    }
  }
  return json;
}

/// By which ranks a part is slow.
Json json_of(const std::vector<SlowRank>& ranks) {
  Json json = Json::array();
  for (const SlowRank& rank : ranks) json.push_back({{"local_rank", rank.local_rank}, {"factor", rank.factor}});
  return json;
}

Json json_of(const SlowPart& part, const Teams& teams, const std::vector<SlowRank>& ranks) {
  constexpr std::array kinds = {"node", "sender", "receiver", "link"};
  const auto name = [&](int i) { return i < 0 ? Json(nullptr) : Json(teams.name(i)); };
  return {{"kind", kinds[static_cast<std::size_t>(part.kind)]},
          {"from", name(part.from)},
          {"to", name(part.to)},
          {"both_ways", part.both_ways},
          {"factor", part.factor},
          {"ranks", json_of(ranks)},
          {"text", describe(part, teams.names) + describe(teams, part, ranks)}};
}

/// What each pair of ranks took, at [team][team][local rank].
Json times_by_rank(const Teams& teams, const RankMatrix<float>& to_us) {
  Json json = Json::array();
  for (int from = 0; from < teams.count(); ++from) {
    Json row = Json::array();
    for (int to = 0; to < teams.count(); ++to) {
      Json ranks = Json::array();
      for (std::size_t k = 0; from != to && k < teams.members(from).size(); ++k) {
        ranks.push_back(to_us.at(teams.members(from)[k], teams.members(to)[k]));
      }
      row.push_back(from == to ? Json(nullptr) : std::move(ranks));
    }
    json.push_back(std::move(row));
  }
  return json;
}

/// More than single cables and nodes are likely to be: they have something in common.
void warn_of_many(const Report& report, const Teams& teams, std::size_t slow) {
  if (slow <= static_cast<std::size_t>(std::max(4, teams.count() / 4))) return;
  report.comment(
      "these are many: they may have a switch or uplinks in common, with less bandwidth than others; look there before "
      "any of them is taken out");
}

void report_slow(const Report& report, const Teams& teams, const PairFindings& findings, const PairMatrices& matrices,
                 std::int64_t bytes, Json& json) {
  const bool judged = findings.unjudged.empty();
  json["judged"] = judged;
  json["typical_us"] = judged ? Json(findings.typical_us) : Json(nullptr);
  json["threshold"] = judged ? Json(findings.threshold) : Json(nullptr);
  json["slow"] = Json::array();
  if (!judged) report.comment(findings.unjudged);
  for (const SlowPart& part : findings.slow) {
    const auto ranks = slow_ranks(teams, matrices.to_us, part, findings.threshold);
    report.comment("SLOW: " + describe(part, teams.names) + describe(teams, part, ranks));
    json["slow"].push_back(json_of(part, teams, ranks));
  }
  warn_of_many(report, teams, findings.slow.size());
  if (judged && findings.slow.empty()) {
    report.comment(fmt::format("nothing is slow: typically {:.3f} GB/s one way, no more than {:.2f} times as long",
                               gigabytes_a_second(bytes, findings.typical_us), findings.threshold));
  }
}

/// Where nodes are not equally far from each other even with hardly anybody else at work.
void report_levels(const Report& report, const Options& options, const PairTimes& to, Json& json) {
  const double ratio = typical_to_nearest(to);
  json["typical_to_nearest"] = ratio;
  if (options.pairs != PairsOf::nodes || ratio <= options.tolerance) return;
  report.comment(fmt::format(
      "a node's typical partner takes {:.2f} times as long as its fastest: the network has not the same bandwidth "
      "between all nodes, and what is slow was judged by what is typical",
      ratio));
}

}  // namespace

PairFindings judge_pairs(const Context& context, const PairTimes& to_us) {
  PairFindings found = find_slow_parts(to_us, context.options.tolerance);
  if (!found.unjudged.empty() || !context.report.ranks_share_cores()) return found;
  PairFindings out;
  out.unjudged = "not judged: who shares a core with whom would be called a slow link";
  return out;
}

void report_pairs(const Context& context, const Teams& teams, const PairMatrices& matrices) {
  Report& report = context.report;
  const Options& o = context.options;
  const std::int64_t bytes = o.pair_size * teams.size();
  report.comment("");
  report.comment(
      fmt::format("pairs of {}: {} from each of {} rank(s), GB/s", o.pairs, format_bytes(o.pair_size), teams.size()));
  const PairTimes both = slowest_of(teams, matrices.both_us), to = slowest_of(teams, matrices.to_us);
  Json json = {{"of", std::string(name_of(o.pairs))},
               {"names", teams.names},
               {"bytes", bytes},
               {"both_ways_us", print_matrix(report, "both send at once", teams, both, bytes)},
               {"one_way_us", print_matrix(report, "row sends to column", teams, to, bytes)}};
  json["sweeps"] = matrices.sweeps;
  if (matrices.sweeps > 1) {
    report.comment(fmt::format("measured {} times, with fewer pairs at once: the shorter time of each pair counts",
                               matrices.sweeps));
  }
  json["wrong"] = report_wrong(report, teams, matrices.wrong);
  if (teams.size() > 1) json["one_way_us_by_rank"] = times_by_rank(teams, matrices.to_us);
  const PairFindings found = judge_pairs(context, to);
  report_slow(report, teams, found, matrices, bytes, json);
  if (found.unjudged.empty()) report_levels(report, o, to, json);
  report.attach("pairs", std::move(json));
}

}  // namespace octet::commbench
