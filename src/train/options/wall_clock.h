#pragma once

#include <optional>
#include <string_view>

namespace octet {

/// Reads train.max_wall_time into seconds: minutes ("90", "0.5") or "H:MM:SS", minutes and seconds of two digits below
/// 60. Nothing for any other text.
std::optional<double> parse_wall_time(std::string_view text);

/// Time since this process began, against a limit.
class WallClock {
 public:
  /// `limit`: seconds; 0 for none.
  explicit WallClock(double limit) : limit_(limit) {}

  static double seconds();
  /// Whether work of that many seconds, begun now, would not end before the limit.
  bool is_too_late_for(double work) const { return limit_ > 0 && seconds() + work >= limit_; }

 private:
  double limit_;
};

}  // namespace octet
