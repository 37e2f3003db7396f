#include "src/tuning/fit/fitted_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "src/tuning/robust.h"

namespace octet {
namespace {

auto key_of(const Measurement& m) {
  return std::tuple(m.collective, m.shape.nodes, m.shape.ranks_per_node, m.algorithm, m.protocol);
}

}  // namespace

std::string name_of(const FittedGroup& g) {
  std::string how = "as the library chose";
  if (g.algorithm || g.protocol) {
    how = fmt::format("{}/{}", g.algorithm ? name_of(*g.algorithm) : "any", g.protocol ? name_of(*g.protocol) : "any");
  }
  return fmt::format("{} {}, {} x {}", name_of(g.collective), how, g.shape.nodes, g.shape.ranks_per_node);
}

std::vector<FittedGroup> fit_groups(const std::vector<Measurement>& rows) {
  std::map<decltype(key_of(rows.front())), FittedGroup> by_key;
  for (const Measurement& row : rows) {
    FittedGroup& group = by_key[key_of(row)];
    group.collective = row.collective;
    group.algorithm = row.algorithm, group.protocol = row.protocol;
    group.shape = row.shape;
    group.points.push_back({row.bytes, row.microseconds});
    group.sources.push_back(row.source);
  }
  std::vector<FittedGroup> groups;
  for (auto& [key, group] : by_key) {
    group.why_not = why_no_fit(group.points);
    if (group.why_not.empty()) group.fit = fit_alpha_beta(group.points);
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<GroupTime> time_of(const FittedGroup& group, std::int64_t bytes) {
  if (!group.fit || bytes < group.fit->bytes_from || bytes > group.fit->bytes_to) return std::nullopt;
  const AlphaBeta& fit = *group.fit;
  std::vector<double> kept, all;
  for (std::size_t i = 0; i < group.points.size(); ++i) {
    if (group.points[i].bytes != bytes) continue;
    all.push_back(std::log(group.points[i].microseconds));
    if (!std::binary_search(fit.left_out.begin(), fit.left_out.end(), i)) kept.push_back(all.back());
  }
  GroupTime time;
  double spread = fit.noise;
  if (!kept.empty()) {
    time.us = std::exp(median(std::move(kept)));
  } else if (all.size() > 1 && rows_agree(all, fit.noise)) {  // off the line, but not by accident
    time.us = std::exp(median(std::move(all)));
  } else if (all.empty()) {
    time.us = fit.us(static_cast<double>(bytes));
    spread = fit.residual();
  } else {
    return std::nullopt;
  }
  // The spread of a single row, even where there are several rows: what disturbed a run disturbed all of its rows.
  const double width = student_95(fit.rows - 2) * spread;
  time.low_us = time.us * std::exp(-width);
  time.high_us = time.us * std::exp(width);
  return time;
}

}  // namespace octet
