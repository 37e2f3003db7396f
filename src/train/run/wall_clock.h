#pragma once

namespace octet {

/// Time since this process began, against a limit.
class WallClock {
 public:
  /// `limit`: seconds; 0 for none.
  explicit WallClock(double limit) : limit_(limit) {}

  static double seconds();
  /// Says whether work of that many seconds, begun now, would not end before the limit.
  bool is_too_late_for(double work) const { return limit_ > 0 && seconds() + work >= limit_; }

 private:
  double limit_;
};

}  // namespace octet
