#include "jobs/commbench/local_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/tuning/robust.h"

namespace octet::commbench {
namespace {

int node_of(const SlowPart& part) {
  return part.from >= 0 ? part.from : part.to;
}

int rank_of(const Teams& teams, int team, std::size_t place) {
  return teams.members(team)[place];
}

double time_of_link(const Teams& teams, const RankMatrix<float>& to_us, const SlowPart& part, std::size_t place) {
  const int from = rank_of(teams, part.from, place), to = rank_of(teams, part.to, place);
  const double there = to_us.at(from, to);
  return part.both_ways ? std::max<double>(there, to_us.at(to, from)) : there;
}

double time_of_node(const Teams& teams, const RankMatrix<float>& to_us, const SlowPart& part, std::size_t place) {
  const int node = node_of(part), rank = rank_of(teams, node, place);
  std::vector<double> us;
  for (int other = 0; other < teams.count(); ++other) {
    if (other == node) continue;
    const int peer = rank_of(teams, other, place);
    if (part.kind != SlowPart::Kind::receiver) us.push_back(to_us.at(rank, peer));
    if (part.kind != SlowPart::Kind::sender) us.push_back(to_us.at(peer, rank));
  }
  return low_quantile(std::move(us), 0.5);
}

}  // namespace

std::vector<SlowRank> slow_ranks(const Teams& teams, const RankMatrix<float>& to_us, const SlowPart& part,
                                 double threshold) {
  std::vector<double> us;
  for (std::size_t place = 0; place < teams.ranks.front().size(); ++place) {
    us.push_back(part.kind == SlowPart::Kind::link ? time_of_link(teams, to_us, part, place)
                                                   : time_of_node(teams, to_us, part, place));
  }
  const double usual = low_quantile(us, 0.5);
  std::vector<SlowRank> slow;
  for (std::size_t place = 0; place < us.size(); ++place) {
    if (us[place] > threshold * usual) slow.push_back({static_cast<int>(place), us[place] / usual});
  }
  std::ranges::stable_sort(slow, std::greater{}, &SlowRank::factor);
  return slow;
}

std::string describe(const Teams& teams, const SlowPart& part, const std::vector<SlowRank>& slow) {
  if (teams.size() == 1) return "";
  if (slow.empty()) return ", all ranks alike";
  std::vector<std::string> named;
  for (const SlowRank& rank : slow) {
    const auto place = static_cast<std::size_t>(rank.local_rank);
    const std::string ranks =
        part.kind == SlowPart::Kind::link
            ? fmt::format("ranks {} and {}", rank_of(teams, part.from, place), rank_of(teams, part.to, place))
            : fmt::format("rank {}", rank_of(teams, node_of(part), place));
    named.push_back(fmt::format("local rank {} ({}): {:.2f} times as long as the others there", rank.local_rank, ranks,
                                rank.factor));
  }
  return fmt::format(", by {}", fmt::join(named, ", "));
}

}  // namespace octet::commbench
