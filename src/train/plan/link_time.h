#pragma once

#include <map>

namespace octet {

/// When a link carries something, for a timeline: what several streams send over it shares it. What comes first in the
/// order of issue has it first; what comes later takes the times that are left, also between others and in parts.
class LinkTime {
 public:
  /// A transfer that takes `seconds` of the link and cannot begin before `from`. Returns when it ends.
  double take(double from, double seconds);
  /// Nothing will be asked for before `time` any more.
  void forget(double time);

 private:
  std::map<double, double> taken_;  ///< begin to end; apart from each other
};

}  // namespace octet
