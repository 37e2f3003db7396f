#include "src/train/plan/link_time.h"

#include <iterator>

namespace octet {

/// Joins the transfer with all pieces that lie between `from` and its end; each of these makes the end later.
double LinkTime::take(double from, double seconds) {
  if (seconds <= 0) return from;
  double begin = from, end = from + seconds;
  auto next = taken_.upper_bound(from);
  if (next != taken_.begin() && std::prev(next)->second >= from) {
    --next;
    begin = next->first;
    end = next->second + seconds;
    next = taken_.erase(next);
  }
  while (next != taken_.end() && next->first <= end) {
    end += next->second - next->first;
    next = taken_.erase(next);
  }
  taken_[begin] = end;
  return end;
}

void LinkTime::forget(double time) {
  std::erase_if(taken_, [&](const auto& piece) { return piece.second < time; });
}

}  // namespace octet
