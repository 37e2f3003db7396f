#include "src/tuning/pairs/pair_effects.h"

#include <algorithm>
#include <cmath>

#include "src/tuning/robust.h"

namespace octet {
namespace {

/// Of an even number the smaller of the middle two: of two links of a node one may be slow.
double lower_median(std::vector<double> values) {
  return low_quantile(std::move(values), 0.5);
}

}  // namespace

PairEffects::PairEffects(const PairTimes& times)
    : times_(times),
      sends_(static_cast<std::size_t>(times.nodes()), 0.0),
      receives_(static_cast<std::size_t>(times.nodes()), 0.0) {
  std::vector<double> all;
  for (int node = 0; node < times.nodes(); ++node) {
    const std::vector<double> sent = values_of(node, true), received = values_of(node, false);
    if (std::min(sent.size(), received.size()) < least_partners) continue;
    nodes_.push_back(node);
    all.push_back(sends_[static_cast<std::size_t>(node)] = lower_median(sent));
    all.push_back(receives_[static_cast<std::size_t>(node)] = lower_median(received));
  }
  if (nodes_.empty()) return;
  typical_ = lower_median(std::move(all));
  std::vector<double> left = rests();
  if (left.empty()) return;
  usual_rest_ = median(left);
  for (double& value : left) value -= usual_rest_;
  spread_ = robust_scale(left, 1);
}

/// How much longer the link takes than its two ends explain. A fast end counts as an ordinary one, since it makes no
/// link fast.
double PairEffects::beyond_ends(int from, int to) const {
  return std::log(times_.at(from, to)) - typical_ - std::max({sends(from), receives(to), 0.0});
}

std::vector<double> PairEffects::values_of(int node, bool as_sender) const {
  std::vector<double> values;
  for (int other = 0; other < times_.nodes(); ++other) {
    const int from = as_sender ? node : other, to = as_sender ? other : node;
    if (times_.met(from, to)) values.push_back(std::log(times_.at(from, to)));
  }
  return values;
}

std::vector<double> PairEffects::rests() const {
  std::vector<double> out;
  for (const int from : nodes_) {
    for (const int to : nodes_) {
      // Where one time was measured for both directions, it counts once.
      const bool same = from > to && times_.at(from, to) == times_.at(to, from);
      if (times_.met(from, to) && !same) out.push_back(beyond_ends(from, to));
    }
  }
  return out;
}

}  // namespace octet
