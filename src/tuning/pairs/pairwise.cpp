#include "src/tuning/pairs/pairwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

void check(const PairTimes& times, double tolerance) {
  if (!(tolerance > 1)) throw internal_error("tuning", "tolerance {}, expected more than 1", tolerance);
  for (int from = 0; from < times.nodes(); ++from) {
    for (int to = 0; to < times.nodes(); ++to) {
      const double us = times.at(from, to);
      if (from != to && !(us >= 0 && std::isfinite(us))) {
        throw internal_error("tuning", "{} us from node {} to {}, expected a time, or 0 for none", us, from, to);
      }
    }
  }
}

void find_slow_nodes(const PairEffects& effects, double threshold, std::vector<SlowPart>& slow) {
  for (const int node : effects.nodes()) {
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

void find_slow_links(const PairEffects& effects, const PairTimes& times, double threshold,
                     std::vector<SlowPart>& slow) {
  const auto add = [&](int from, int to, bool both, double rest) {
    slow.push_back({.from = from, .to = to, .both_ways = both, .factor = std::exp(rest)});
  };
  const auto rest = [&](int from, int to) { return times.met(from, to) ? effects.rest(from, to) : 0; };
  for (const int a : effects.nodes()) {
    for (const int b : effects.nodes()) {
      if (a >= b) continue;
      const double there = rest(a, b), back = rest(b, a);
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

PairFindings unjudged(std::string why) {
  PairFindings out;
  out.unjudged = std::move(why);
  return out;
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
  const PairEffects effects(times);
  if (effects.nodes().size() < least_nodes_to_judge) {
    return unjudged(fmt::format("too few pairs to judge: fewer than {} met {} others", least_nodes_to_judge,
                                PairEffects::least_partners));
  }
  const double noise = 5 * effects.spread(), threshold = std::max(std::log(tolerance), noise);
  if (noise > std::log(std::max(tolerance, most_noise))) {
    return unjudged(
        fmt::format("too noisy to judge: pairs that are well scatter by a factor of {:.3g}", std::exp(noise)));
  }
  PairFindings out{
      .unjudged = {}, .typical_us = std::exp(effects.typical()), .threshold = std::exp(threshold), .slow = {}};
  find_slow_nodes(effects, threshold, out.slow);
  find_slow_links(effects, times, threshold, out.slow);
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
