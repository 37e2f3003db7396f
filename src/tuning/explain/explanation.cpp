#include "src/tuning/explain/explanation.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

AlgorithmTable table_of(const Question& question, std::int64_t bytes) {
  return predicted_us(question.version, question.machine, question.constants, question.collective, question.shape,
                      bytes);
}

bool same(const Choice& a, const Choice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

// Where the choice changes between two sizes that have different ones.
std::int64_t boundary(const Question& question, std::int64_t low, std::int64_t high) {
  const Choice left = choose(table_of(question, low));
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (same(choose(table_of(question, middle)), left) ? low : high) = middle;
  }
  return high;
}

int nics_of(const Question& question) {
  const NcclMachine& machine = question.machine;
  return std::max(1, machine.nics * question.shape.ranks_per_node / machine.gpus);
}

std::vector<Alternative> alternatives_of(const Question& question) {
  const AlgorithmTable table = table_of(question, question.bytes);
  const AlgorithmCosts costs = costs_at(question.version, question.machine, question.constants, question.collective,
                                        question.shape, question.bytes);
  std::vector<Alternative> all;
  for (std::size_t a = 0; a < algorithm_count; ++a) {
    for (std::size_t p = 0; p < protocol_count; ++p) {
      const double us = table.at(a).at(p);
      const double bus = us < 0 ? 0 : bus_gbs(question.collective, question.shape, question.bytes, us);
      all.push_back({static_cast<Algorithm>(a), static_cast<Protocol>(p), us, bus, costs.at(a).at(p).latency_us,
                     costs.at(a).at(p).excluded});
    }
  }
  // Stable: equal times keep NCCL's order, whose first it takes.
  std::ranges::stable_sort(all, {}, [](const Alternative& x) { return x.us < 0 ? INFINITY : x.us; });
  return all;
}

/// Of a node, over the bytes of the collective.
struct NodeBytes {
  double sent = 0, received = 0;
};

NodeBytes in_network(Collective collective, double nodes) {
  switch (collective) {
    case Collective::all_gather:
      return {1 / nodes, (nodes - 1) / nodes};
    case Collective::reduce_scatter:
      return {1, 1 / nodes};
    default:
      return {1, 1};
  }
}

NodeBytes node_bytes(const Question& question, Algorithm algorithm) {
  const double nodes = question.shape.nodes;
  switch (algorithm) {
    case Algorithm::tree:
    case Algorithm::nvls_tree:
      return {2 * (nodes - 1) / nodes, 2 * (nodes - 1) / nodes};
    case Algorithm::ring:
    case Algorithm::pat: {
      const double through = bus_factor(question.collective, question.shape.ranks());
      return {through, through};
    }
    default:
      return in_network(question.collective, nodes);
  }
}

}  // namespace

WireRate wire_rate(const Question& question, Algorithm algorithm, double us) {
  if (question.shape.nodes == 1) return {};
  const NodeBytes moved = node_bytes(question, algorithm);
  const double rate = static_cast<double>(question.bytes) / (1000 * us) / nics_of(question);
  return {moved.sent * rate, moved.received * rate};
}

std::vector<SizeRange> switch_points(const Question& question) {
  constexpr int steps = 16;             // of a doubling
  constexpr int first = 10, last = 36;  // powers of two
  std::int64_t before = std::int64_t{1} << first;
  std::vector<SizeRange> ranges{{before, 0, choose(table_of(question, before))}};
  for (int step = first * steps + 1; step <= last * steps; ++step) {
    const auto bytes = static_cast<std::int64_t>(std::exp2(static_cast<double>(step) / steps));
    const Choice choice = choose(table_of(question, bytes));
    if (!same(choice, ranges.back().choice)) {
      const std::int64_t from = boundary(question, before, bytes);
      ranges.back().to = from;
      ranges.push_back({from, 0, choice});
    }
    before = bytes;
  }
  return ranges;
}

Explanation explain(const Question& question) {
  Explanation told;
  told.alternatives = alternatives_of(question);
  told.choice = choose(table_of(question, question.bytes));
  told.bus_gbs = bus_gbs(question.collective, question.shape, question.bytes, told.choice.us);
  told.nics = nics_of(question);
  told.wire = wire_rate(question, told.choice.algorithm, told.choice.us);
  told.range = {question.bytes, question.bytes + 1, told.choice};
  std::vector<SizeRange> ranges = switch_points(question);
  ranges.front().from = 1;  // below what is looked at the choice stays
  for (const SizeRange& range : ranges) {
    const bool holds = range.from <= question.bytes && (range.to == 0 || question.bytes < range.to);
    if (holds && same(range.choice, told.choice)) told.range = range;
  }
  return told;
}

namespace {

double impossible_nic_gbs(const Question& question, const Explanation& told, double measured_us) {
  double least = INFINITY;
  for (const Alternative& x : told.alternatives) {
    if (x.us >= 0) least = std::min(least, wire_rate(question, x.algorithm, measured_us).gbs());
  }
  return std::isfinite(least) && least > most_nic_share * question.machine.nic_gbs ? least : 0;
}

std::optional<Alternative> nearest(const Explanation& told, double measured_us) {
  const auto distance = [&](const Alternative& x) { return x.us < 0 ? INFINITY : std::abs(x.us / measured_us - 1); };
  const Alternative& best = *std::ranges::min_element(told.alternatives, {}, distance);
  return distance(best) <= near_share ? std::optional(best) : std::nullopt;
}

}  // namespace

Health judge(const Question& question, const Explanation& explanation, double measured_us) {
  const auto bus = [&](double us) { return bus_gbs(question.collective, question.shape, question.bytes, us); };
  const double share_us = explanation.choice.us / healthy_share;
  const double limit_us = explanation.fit ? std::max(share_us, explanation.fit->high_us) : share_us + launch_us;
  return {.bus_gbs = bus(measured_us),
          .share = explanation.choice.us / measured_us,
          .threshold_gbs = bus(limit_us),
          .healthy = measured_us <= limit_us,
          .impossible_nic_gbs = impossible_nic_gbs(question, explanation, measured_us),
          .nearest = nearest(explanation, measured_us)};
}

}  // namespace octet
