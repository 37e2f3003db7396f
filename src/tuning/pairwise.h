#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace octet {

/// Rounds of pairs (lower, higher) in which each of `n` meets every other exactly once and nobody two others at a time:
/// n - 1 rounds of all, or, where n is odd, n rounds in which one pauses. The circle method of tournaments.
std::vector<std::vector<std::pair<int, int>>> round_robin(int n);

/// What each of `n` nodes measured with every other: microseconds from row to column, the same bytes for all. The
/// diagonal is not read.
class PairTimes {
 public:
  explicit PairTimes(int n) : n_(n), us_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n), 0.0) {}

  int nodes() const { return n_; }
  double& at(int from, int to) { return us_[index(from, to)]; }
  double at(int from, int to) const { return us_[index(from, to)]; }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(to);
  }

  int n_;
  std::vector<double> us_;
};

/// Something that is slower than the rest explains.
struct SlowPart {
  enum class Kind { node, sender, receiver, link };

  Kind kind = Kind::link;
  int from = -1;          ///< the node, the sender; of a link where it begins
  int to = -1;            ///< of a link where it ends; the receiver; else -1
  bool both_ways = true;  ///< of a link
  double factor = 1;      ///< times the time of the others

  bool operator==(const SlowPart&) const = default;
};

struct PairFindings {
  double typical_us = 0;  ///< of a healthy pair
  double threshold = 1;   ///< factor from which on something counts as slow
  std::vector<SlowPart> slow;
};

/// Names nodes, directions of a node and links that are slow. On log(time): a node's effect as a sender is the lower
/// median of its row, as a receiver that of its column, each against the median of all rows and columns; a link is slow
/// when its time exceeds what the slower of its ends explains. Medians let a minority be arbitrarily wrong: of a node,
/// fewer than half of its links, of the machine fewer than half of the nodes. Something is slow from the factor
/// `tolerance` on, or 6 robust standard deviations of what is left over (the median of absolute deviations), whichever
/// is more. Two nodes have one link, and nothing to compare it with but its two directions.
/// Throws an internal error where a time is not positive, or tolerance not above 1.
PairFindings find_slow_parts(const PairTimes& times, double tolerance = 1.25);

/// "link n1 <-> n3 takes 4.1 times as long as others", with the nodes' names.
std::string describe(const SlowPart& part, const std::vector<std::string>& names);

}  // namespace octet
