#include "jobs/commbench/teams.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"

namespace octet::commbench {
namespace {

void check(const Teams& teams, PairsOf pairs) {
  if (teams.count() < 2) {
    throw usage_error("commbench", "--pairs {}: all ranks are on {}, expected two nodes at least (or --pairs ranks)",
                      pairs, teams.names.front());
  }
  for (int team = 1; team < teams.count(); ++team) {
    if (teams.members(team).size() == teams.ranks.front().size()) continue;
    throw usage_error("commbench", "--pairs nodes: {} has {} ranks and {} has {}, expected as many on each",
                      teams.names.front(), teams.size(), teams.name(team), teams.members(team).size());
  }
}

}  // namespace

Teams make_teams(PairsOf pairs, const std::vector<std::string>& node_of) {
  Teams out;
  for (std::size_t i = 0; i < node_of.size(); ++i) {
    const int rank = static_cast<int>(i);
    const auto known = std::ranges::find(out.names, node_of[i]);
    if (pairs == PairsOf::ranks) {
      out.names.push_back(fmt::format("{}.{}", node_of[i], rank));
      out.ranks.push_back({rank});
    } else if (known == out.names.end()) {
      out.names.push_back(node_of[i]);
      out.ranks.push_back({rank});
    } else {
      out.ranks[static_cast<std::size_t>(known - out.names.begin())].push_back(rank);
    }
  }
  check(out, pairs);
  return out;
}

PairTimes slowest_of(const Teams& teams, const RankMatrix<float>& us) {
  PairTimes times(teams.count());
  for (int a = 0; a < teams.count(); ++a) {
    for (int b = 0; b < teams.count(); ++b) {
      if (a == b) continue;
      for (std::size_t k = 0; k < teams.members(a).size(); ++k) {
        times.at(a, b) = std::max<double>(times.at(a, b), us.at(teams.members(a)[k], teams.members(b)[k]));
      }
    }
  }
  return times;
}

}  // namespace octet::commbench
