#include "src/tuning/pairs/pair_sweeps.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "src/tuning/robust.h"

namespace octet {
namespace {

constexpr int nodes_a_pair = 32;
constexpr int fewer = 4;  // each sweep has so many times fewer pairs at a time than the one before

/// Pairs at a time in the sweep after so many; 0: the one before had them alone.
int at_once_after(int sweeps, int n) {
  int pairs = std::max(1, n / nodes_a_pair);
  for (int sweep = 1; sweep < sweeps; ++sweep) pairs = pairs == 1 ? 0 : pairs / fewer + (pairs < fewer ? 1 : 0);
  return pairs;
}

/// std::shuffle differs between standard libraries: ranks of different builds have to agree.
void shuffle(PairRound& pairs, std::mt19937& random) {
  for (std::size_t left = pairs.size(); left > 1; --left) std::swap(pairs[left - 1], pairs[random() % left]);
}

/// Which pairs something slow is about: all of a node, or a link.
class Named {
 public:
  Named(int n, const std::vector<SlowPart>& slow) : nodes_(static_cast<std::size_t>(n)), links_(n) {
    for (const SlowPart& part : slow) {
      if (part.kind == SlowPart::Kind::link) {
        links_.at(part.from, part.to) = links_.at(part.to, part.from) = 1;
      } else {
        nodes_[static_cast<std::size_t>(part.from >= 0 ? part.from : part.to)] = true;
      }
    }
  }

  bool operator()(const std::pair<int, int>& pair) const {
    const auto of_node = [&](int node) { return nodes_[static_cast<std::size_t>(node)]; };
    return of_node(pair.first) || of_node(pair.second) || links_.met(pair.first, pair.second);
  }

 private:
  std::vector<bool> nodes_;
  PairTimes links_;
};

template <typename Wanted>
std::vector<PairRound> rounds_of(int n, int at_once, const Wanted& wanted) {
  std::mt19937 random(static_cast<unsigned>(n + at_once));
  std::vector<PairRound> out;
  for (PairRound& round : round_robin(n)) {
    std::erase_if(round, [&](const auto& pair) { return !wanted(pair); });
    shuffle(round, random);
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (i % static_cast<std::size_t>(at_once) == 0) out.emplace_back();
      out.back().push_back(round[i]);
    }
  }
  return out;
}

bool too_few(const PairTimes& times) {
  return PairEffects(times).nodes().size() < least_nodes_to_judge;
}

}  // namespace

std::vector<PairRound> quiet_rounds(int n, int at_once) {
  return rounds_of(n, at_once, [](const auto&) { return true; });
}

std::vector<PairRound> next_sweep(const PairTimes& shortest, int sweeps, double tolerance) {
  const int n = shortest.nodes(), at_once = at_once_after(sweeps, n);
  if (at_once == 0 || too_few(shortest)) return {};
  const PairFindings found = find_slow_parts(shortest, tolerance);
  if (sweeps == 1) {
    const bool noisy = !found.unjudged.empty() || std::log(found.threshold) > std::log(tolerance) + 1e-9;
    const bool suspicious = noisy || !found.slow.empty();
    return suspicious || typical_to_nearest(shortest) > tolerance ? quiet_rounds(n, at_once) : std::vector<PairRound>{};
  }
  if (found.slow.empty()) return {};
  // Pairs that are nearly slow meet again too: compared with what is typical in the next sweep, they may be slow.
  const double nearly = std::max(std::sqrt(tolerance), std::nextafter(1.0, 2.0));
  std::vector<PairRound> rounds = rounds_of(n, at_once, Named(n, find_slow_parts(shortest, nearly).slow));
  if (rounds.size() > static_cast<std::size_t>(most_rounds) * static_cast<std::size_t>(n)) rounds.clear();
  return rounds;
}

double typical_to_nearest(const PairTimes& times) {
  std::vector<double> ratios;
  for (int from = 0; from < times.nodes(); ++from) {
    std::vector<double> sent;
    for (int to = 0; to < times.nodes(); ++to) {
      if (times.met(from, to)) sent.push_back(times.at(from, to));
    }
    if (sent.empty()) continue;
    const double nearest = *std::ranges::min_element(sent);
    ratios.push_back(median(std::move(sent)) / nearest);
  }
  return ratios.empty() ? 1 : median(std::move(ratios));
}

}  // namespace octet
