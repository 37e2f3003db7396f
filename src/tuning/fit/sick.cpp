#include "src/tuning/fit/sick.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "src/tuning/fit/robust.h"

namespace octet {
namespace {

constexpr double deviations = 5;
constexpr double least_slowdown = 1.15;  // a port of eight lost is 1.14, and sweeps of few nodes have noise of 3 %
constexpr double faster_part = 0.25;
constexpr std::size_t least_partners = 2;  // with one, node and link are the same

using Pair = std::pair<std::string, std::string>;

/// Logarithm of the time of each pair, in one order of its names.
std::map<Pair, double> log_times(const std::vector<PairTime>& pairs) {
  std::map<Pair, std::vector<double>> times;
  for (const PairTime& p : pairs) {
    times[std::minmax(p.first, p.second)].push_back(std::log(p.microseconds));
  }
  std::map<Pair, double> medians;
  for (auto& [pair, values] : times) medians[pair] = median(std::move(values));
  return medians;
}

std::vector<double> around(std::vector<double> values, double middle) {
  for (double& v : values) v -= middle;
  return values;
}

template <class Map>
std::vector<double> values_of(const Map& map) {
  std::vector<double> values;
  values.reserve(map.size());
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

/// From which excess of log time on one of `values` is sick.
double excess(const std::vector<double>& values, double middle) {
  return std::max(deviations * robust_scale(around(values, middle), 1), std::log(least_slowdown));
}

}  // namespace

SickReport find_sick(const std::vector<PairTime>& pairs) {
  const std::map<Pair, double> times = log_times(pairs);
  std::map<std::string, std::vector<double>> of_node;
  for (const auto& [pair, time] : times) {
    of_node[pair.first].push_back(time);
    of_node[pair.second].push_back(time);
  }
  std::map<std::string, double> speed;
  for (const auto& [node, own] : of_node) {
    if (own.size() >= least_partners) speed[node] = low_quantile(own, faster_part);
  }
  SickReport report;
  if (speed.size() < 3) {
    report.unsure = "fewer than 3 nodes met 2 others; a slow node and a slow link look the same";
    return report;
  }

  std::map<Pair, double> beyond;  // of a pair, over what both of its nodes reach elsewhere
  for (const auto& [pair, time] : times) {
    if (speed.contains(pair.first) && speed.contains(pair.second)) {
      beyond[pair] = time - std::max(speed[pair.first], speed[pair.second]);
    }
  }
  const double usual = median(values_of(speed)), usual_beyond = median(values_of(beyond));
  // Links outnumber nodes and their noise is that of one pair: it bounds both.
  const double from = std::max(excess(values_of(beyond), usual_beyond), std::log(least_slowdown));
  report.threshold = std::exp(from);
  for (const auto& [node, own] : speed) {
    if (own - usual > from) {
      report.nodes.push_back({node, std::exp(own - usual), static_cast<int>(of_node[node].size())});
    }
  }
  for (const auto& [pair, own] : beyond) {
    if (own - usual_beyond > from) report.links.push_back({pair.first, pair.second, std::exp(own - usual_beyond)});
  }
  const auto worse = [](const auto& a, const auto& b) { return a.slowdown > b.slowdown; };
  std::stable_sort(report.nodes.begin(), report.nodes.end(), worse);
  std::stable_sort(report.links.begin(), report.links.end(), worse);
  return report;
}

}  // namespace octet
