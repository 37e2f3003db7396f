#include "src/tuning/pairwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/error.h"

namespace octet {
namespace {

/// Of an even number the smaller of the middle two: of two links of a node one may be slow.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// log(time) without the diagonal, and what explains it.
class Effects {
 public:
  explicit Effects(const PairTimes& times) : times_(times) {
    for (int node = 0; node < times.nodes(); ++node) {
      sends_.push_back(lower_median(values_of(node, true)));
      receives_.push_back(lower_median(values_of(node, false)));
    }
    std::vector<double> both = sends_;
    both.insert(both.end(), receives_.begin(), receives_.end());
    typical_ = lower_median(both);
  }

  double typical() const { return typical_; }
  double sends(int node) const { return sends_[static_cast<std::size_t>(node)] - typical_; }
  double receives(int node) const { return receives_[static_cast<std::size_t>(node)] - typical_; }
  /// Of a link beyond the slower of its ends. A fast end makes no link fast.
  double rest(int from, int to) const {
    return std::log(times_.at(from, to)) - typical_ - std::max({sends(from), receives(to), 0.0});
  }

  /// 1.4826 makes the median of absolute deviations the standard deviation of a normal distribution.
  double spread() const {
    std::vector<double> deviations;
    for (int from = 0; from < times_.nodes(); ++from) {
      for (int to = 0; to < times_.nodes(); ++to) {
        if (from != to) deviations.push_back(std::abs(rest(from, to)));
      }
    }
    return 1.4826 * lower_median(std::move(deviations));
  }

 private:
  std::vector<double> values_of(int node, bool as_sender) const {
    std::vector<double> values;
    for (int other = 0; other < times_.nodes(); ++other) {
      if (other == node) continue;
      values.push_back(std::log(as_sender ? times_.at(node, other) : times_.at(other, node)));
    }
    return values;
  }

  const PairTimes& times_;
  std::vector<double> sends_, receives_;
  double typical_ = 0;
};

void check(const PairTimes& times, double tolerance) {
  if (!(tolerance > 1)) throw internal_error("tuning", "tolerance {}, expected more than 1", tolerance);
  for (int from = 0; from < times.nodes(); ++from) {
    for (int to = 0; to < times.nodes(); ++to) {
      const double us = times.at(from, to);
      if (from != to && !(us > 0 && std::isfinite(us))) {
        throw internal_error("tuning", "{} us from node {} to {}, expected a positive time", us, from, to);
      }
    }
  }
}

void find_slow_nodes(const Effects& effects, int nodes, double threshold, std::vector<SlowPart>& slow) {
  for (int node = 0; node < nodes; ++node) {
    const double sends = effects.sends(node), receives = effects.receives(node);
    if (sends > threshold && receives > threshold) {
      slow.push_back({.kind = SlowPart::Kind::node, .from = node, .factor = std::exp(std::max(sends, receives))});
    } else if (sends > threshold) {
      slow.push_back({.kind = SlowPart::Kind::sender, .from = node, .factor = std::exp(sends)});
    } else if (receives > threshold) {
      slow.push_back({.kind = SlowPart::Kind::receiver, .to = node, .factor = std::exp(receives)});
    }
  }
}

void find_slow_links(const Effects& effects, int nodes, double threshold, std::vector<SlowPart>& slow) {
  const auto add = [&](int from, int to, bool both, double rest) {
    slow.push_back({.from = from, .to = to, .both_ways = both, .factor = std::exp(rest)});
  };
  for (int a = 0; a < nodes; ++a) {
    for (int b = a + 1; b < nodes; ++b) {
      const double there = effects.rest(a, b), back = effects.rest(b, a);
      if (there > threshold && back > threshold) {
        add(a, b, true, std::max(there, back));
      } else if (there > threshold) {
        add(a, b, false, there);
      } else if (back > threshold) {
        add(b, a, false, back);
      }
    }
  }
}

}  // namespace

std::vector<std::vector<std::pair<int, int>>> round_robin(int n) {
  const int places = n + n % 2;  // with an odd number one plays against nobody
  std::vector<std::vector<std::pair<int, int>>> rounds;
  for (int round = 0; round + 1 < places; ++round) {
    auto& pairs = rounds.emplace_back();
    // The last place stays, the others move on around a circle.
    const auto who = [&](int place) { return place == places - 1 ? place : (place + round) % (places - 1); };
    for (int place = 0; place < places / 2; ++place) {
      const int a = who(place), b = place == 0 ? who(places - 1) : who(places - 1 - place);
      if (a < n && b < n) pairs.emplace_back(std::min(a, b), std::max(a, b));
    }
  }
  return rounds;
}

PairFindings find_slow_parts(const PairTimes& times, double tolerance) {
  check(times, tolerance);
  if (times.nodes() < 2) return {};
  const Effects effects(times);
  const double threshold = std::max(std::log(tolerance), 6 * effects.spread());
  PairFindings out{.typical_us = std::exp(effects.typical()), .threshold = std::exp(threshold), .slow = {}};
  if (times.nodes() == 2) {  // each end would be to blame for the same
    const double there = std::log(times.at(0, 1)), back = std::log(times.at(1, 0));
    if (std::abs(there - back) > std::log(tolerance)) {
      const bool forward = there > back;
      out.slow.push_back({.from = forward ? 0 : 1,
                          .to = forward ? 1 : 0,
                          .both_ways = false,
                          .factor = std::exp(std::abs(there - back))});
    }
    return out;
  }
  find_slow_nodes(effects, times.nodes(), threshold, out.slow);
  find_slow_links(effects, times.nodes(), threshold, out.slow);
  std::ranges::stable_sort(out.slow, [](const SlowPart& a, const SlowPart& b) { return a.factor > b.factor; });
  return out;
}

std::string describe(const SlowPart& part, const std::vector<std::string>& names) {
  const auto name = [&](int node) { return names.at(static_cast<std::size_t>(node)); };
  const auto times = fmt::format("{:.2f} times as long as others", part.factor);
  switch (part.kind) {
    case SlowPart::Kind::node:
      return fmt::format("node {}: everything from and to it takes {}", name(part.from), times);
    case SlowPart::Kind::sender:
      return fmt::format("node {} sends slowly: what it sends takes {}", name(part.from), times);
    case SlowPart::Kind::receiver:
      return fmt::format("node {} receives slowly: what it receives takes {}", name(part.to), times);
    case SlowPart::Kind::link:
      break;
  }
  return fmt::format("link {} {} {} takes {}", name(part.from), part.both_ways ? "<->" : "->", name(part.to), times);
}

}  // namespace octet
