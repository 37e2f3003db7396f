#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"
#include "src/tuning/pairs/pairwise.h"

namespace octet::commbench {

/// What the sweep of pairs measures between: nodes, all their ranks at once, or ranks.
enum class PairsOf : std::uint8_t { none, nodes, ranks };
constexpr auto names_of(PairsOf) {
  return std::to_array<std::string_view>({"none", "nodes", "ranks"});
}

/// The ranks that meet in the sweep of pairs: as many of each node, or each rank for itself.
struct Teams {
  std::vector<std::string> names;
  std::vector<std::vector<int>> ranks;  ///< by team, as many in each

  int count() const { return static_cast<int>(names.size()); }
  const std::string& name(int team) const { return names.at(static_cast<std::size_t>(team)); }
  const std::vector<int>& members(int team) const { return ranks.at(static_cast<std::size_t>(team)); }
  int size() const { return static_cast<int>(ranks.front().size()); }
};

/// `pairs`: nodes or ranks. Usage error where there is one team alone, or nodes have different numbers of ranks.
Teams make_teams(PairsOf pairs, const std::vector<std::string>& node_of);

/// What each rank has for each other, at [rank * ranks + peer].
template <typename T>
class RankMatrix {
 public:
  explicit RankMatrix(int ranks) : ranks_(static_cast<std::size_t>(ranks)), values_(ranks_ * ranks_) {}

  T& at(int rank, int peer) { return values_[index(rank, peer)]; }
  T at(int rank, int peer) const { return values_[index(rank, peer)]; }
  std::vector<T>& values() { return values_; }

 private:
  std::size_t index(int rank, int peer) const {
    return static_cast<std::size_t>(rank) * ranks_ + static_cast<std::size_t>(peer);
  }

  std::size_t ranks_;
  std::vector<T> values_;
};

/// Ranks of the same place in their teams meet: the slowest of them is the team's time, in microseconds.
PairTimes slowest_of(const Teams& teams, const RankMatrix<float>& us);

}  // namespace octet::commbench
