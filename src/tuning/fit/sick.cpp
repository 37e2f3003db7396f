#include "src/tuning/fit/sick.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/tuning/pairs/pairwise.h"
#include "src/tuning/robust.h"

namespace octet {
namespace {

constexpr double least_slowdown = 1.15;  // a port of eight lost is 1.14, and sweeps of few nodes have noise of 3 %

/// The sweep as a matrix: one time of a pair for both directions.
struct Sweep {
  std::vector<std::string> names;
  PairTimes times;

  int partners(int node) const {
    int count = 0;
    for (int other = 0; other < times.nodes(); ++other) count += times.met(node, other) ? 1 : 0;
    return count;
  }
  const std::string& name(int node) const { return names.at(static_cast<std::size_t>(node)); }
};

Sweep sweep_of(const std::vector<PairTime>& pairs) {
  std::map<std::string, int> number;
  for (const PairTime& p : pairs) number[p.first] = number[p.second] = 0;
  Sweep out{{}, PairTimes(static_cast<int>(number.size()))};
  for (auto& [name, at] : number) {
    at = static_cast<int>(out.names.size());
    out.names.push_back(name);
  }
  std::map<std::pair<int, int>, std::vector<double>> repeated;
  for (const PairTime& p : pairs) {
    repeated[std::minmax(number.at(p.first), number.at(p.second))].push_back(p.microseconds);
  }
  for (auto& [pair, times] : repeated) {
    out.times.at(pair.first, pair.second) = out.times.at(pair.second, pair.first) = median(std::move(times));
  }
  return out;
}

}  // namespace

SickReport find_sick(const std::vector<PairTime>& pairs) {
  const Sweep sweep = sweep_of(pairs);
  const PairFindings found = find_slow_parts(sweep.times, least_slowdown);
  SickReport report;
  report.unsure = found.unjudged;
  if (!report.unsure.empty()) return report;
  report.threshold = found.threshold;
  for (const SlowPart& part : found.slow) {
    if (part.kind == SlowPart::Kind::link) {
      report.links.push_back({sweep.name(part.from), sweep.name(part.to), part.factor});
    } else {  // both directions have one time: it is the whole node that is slow
      report.nodes.push_back({sweep.name(part.from), part.factor, sweep.partners(part.from)});
    }
  }
  return report;
}

}  // namespace octet
