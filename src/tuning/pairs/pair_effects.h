#pragma once

#include <cstddef>
#include <vector>

namespace octet {

/// What nodes measured with each other: microseconds from row to column, the same bytes for all, 0 where two did not
/// meet. The diagonal is not read.
class PairTimes {
 public:
  explicit PairTimes(int n) : n_(n), us_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n), 0.0) {}

  int nodes() const { return n_; }
  double& at(int from, int to) { return us_[index(from, to)]; }
  double at(int from, int to) const { return us_[index(from, to)]; }
  bool met(int from, int to) const { return from != to && at(from, to) != 0; }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(to);
  }

  int n_;
  std::vector<double> us_;
};

/// Splits log(time) of pairs into effects, by medians: a node's effect as a sender is the lower median of its row, as a
/// receiver that of its column, each relative to that of all rows and columns. What a pair takes beyond the slower of
/// its two ends is its rest; rests are centred on their median.
class PairEffects {
 public:
  /// A node counts if it sent to and received from at least this many others: among fewer, a slow one is no minority.
  static constexpr int least_partners = 3;

  explicit PairEffects(const PairTimes& times);

  /// Nodes that count, in order.
  const std::vector<int>& nodes() const { return nodes_; }
  double typical() const { return typical_; }
  double sends(int node) const { return sends_[static_cast<std::size_t>(node)] - typical_; }
  double receives(int node) const { return receives_[static_cast<std::size_t>(node)] - typical_; }
  /// The rest of two nodes that count and met.
  double rest(int from, int to) const { return beyond_ends(from, to) - usual_rest_; }
  /// Robust standard deviation of the rests (src/tuning/robust.h).
  double spread() const { return spread_; }

 private:
  double beyond_ends(int from, int to) const;
  std::vector<double> values_of(int node, bool as_sender) const;
  std::vector<double> rests() const;

  const PairTimes& times_;
  std::vector<int> nodes_;
  std::vector<double> sends_, receives_;  ///< by node; 0 of those that do not count
  double typical_ = 0, usual_rest_ = 0, spread_ = 0;
};

}  // namespace octet
