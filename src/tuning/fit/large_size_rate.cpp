#include "src/tuning/fit/large_size_rate.h"

#include <algorithm>
#include <set>
#include <vector>

#include "src/tuning/robust.h"

namespace octet {
namespace {

constexpr double agrees = 0.1;         // of the logarithm: NCCL's constants are rounder than that
constexpr double latency_share = 0.2;  // of the time, at most
constexpr std::size_t least_sizes = 3;

double spread(std::vector<double> logs, double middle) {
  for (double& one : logs) one = std::abs(one - middle);
  return median(std::move(logs));
}

}  // namespace

const AlgorithmCost& cost_of(const FittedGroup& group, const AlgorithmCosts& costs) {
  return costs.at(static_cast<std::size_t>(*group.algorithm)).at(static_cast<std::size_t>(*group.protocol));
}

std::optional<LargeSizeRate> large_size_rate(const NcclVersion& version, const NcclMachine& machine,
                                             const ModelConstants& constants, const FittedGroup& group) {
  if (!group.fit || !group.forced()) return std::nullopt;
  const AlgorithmCosts costs = algorithm_costs(version, machine, constants, group.collective, group.shape);
  const AlgorithmCost& cost = cost_of(group, costs);
  if (!cost.excluded.empty()) return std::nullopt;
  std::set<std::int64_t> sizes;
  for (const FitPoint& point : group.points) sizes.insert(point.bytes);
  std::vector<double> logs, widths;
  for (const std::int64_t bytes : sizes) {
    const auto time = time_of(group, bytes);
    const AlgorithmCost at =
        cost_of(group, costs_at(version, machine, constants, group.collective, group.shape, bytes));
    if (!time || at.latency_us > latency_share * time->us) continue;
    logs.push_back(std::log(static_cast<double>(bytes) / (1e3 * (time->us - at.latency_us)) / at.algorithm_gbs));
    widths.push_back(std::log(time->high_us / time->us));
  }
  if (logs.size() < least_sizes) return std::nullopt;
  const double middle = median(logs);
  if (spread(logs, middle) > agrees) return std::nullopt;
  return LargeSizeRate{&group, cost.algorithm_gbs * std::exp(middle), cost.algorithm_gbs,
                       std::max(agrees, median(std::move(widths)))};
}

}  // namespace octet
