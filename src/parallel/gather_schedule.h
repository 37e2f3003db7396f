#pragma once

#include <span>
#include <vector>

namespace octet {

/// Which gathered units stay alive, from the announced order alone.
class GatherSchedule {
 public:
  /// `lets_go`: units are dropped when they are released (Zero::three).
  explicit GatherSchedule(bool lets_go) : lets_go_(lets_go) {}

  void begin(std::span<const int> order) {
    order_.assign(order.begin(), order.end());
    position_ = 0;
  }
  /// The unit being asked for; throws internal_error when it is not the next in the order.
  void advance(int unit);
  /// The unit after the current one, or -1: the one to prefetch.
  int next() const { return position_ < order_.size() ? order_[position_] : -1; }
  /// Says whether a released unit stays gathered: always where nothing is let go, else when it comes back within three
  /// units (the last block, whose backward follows the head and, when tied, the embedding).
  bool keep(int unit) const;

 private:
  bool lets_go_;
  std::vector<int> order_;
  std::size_t position_ = 0;
};

}  // namespace octet
