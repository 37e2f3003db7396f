#pragma once

#include <functional>
#include <list>

#include "tests/emulated/thread_block.h"

namespace octet::emulated {

/// Lanes of a warp that wait for each other.
struct Meeting {
  const char* what = "";
  unsigned mask = 0;  ///< empty: nobody uses it
  unsigned there = 0, gone = 0;
  LaneValues values = {};
  Gate gate;
};

/// Those of one warp.
class Meetings {
 public:
  /// The meeting of these lanes that `lane` has not come to yet. `why_not`: says of a lane why it cannot come, or
  /// nothing. Throws Fault where one of the mask cannot, or `lane` is not of it.
  Meeting& of(const char* what, unsigned mask, unsigned lane, const std::function<const char*(unsigned)>& why_not);

 private:
  std::list<Meeting> all_;
};

}  // namespace octet::emulated
