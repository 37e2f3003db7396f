#include "src/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

/// Largest remainder: everybody gets the floor, and what is left goes to the largest fractions (ties: the earlier).
std::vector<std::int64_t> apportion(std::span<const double> weights, std::int64_t total) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> counts;
  std::vector<double> fractions;
  for (const double weight : weights) {
    const double exact = weight / sum * static_cast<double>(total);
    counts.push_back(static_cast<std::int64_t>(exact));
    fractions.push_back(exact - std::floor(exact));
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return fractions[a] > fractions[b]; });
  const std::int64_t left = total - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < left; ++i) ++counts[order[static_cast<std::size_t>(i) % order.size()]];
  return counts;
}

__extension__ using Wide = unsigned __int128;

/// How many of its first n samples a node gives to its left part: to the nearest of n * slope / 2^63, a half up.
/// n < 2^63, so that 126 bits hold the product.
std::int64_t to_left(std::uint64_t slope, std::int64_t n) {
  return static_cast<std::int64_t>((static_cast<Wide>(slope) * static_cast<Wide>(n) + (Wide{1} << 62)) >> 63);
}

}  // namespace

PeriodMixture::PeriodMixture(std::span<const double> weights) {
  counts_ = apportion(weights, period);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) {
      throw usage_error("data",
                        "data.train or data.changes: the weight {} is less than one sample in {}; this run began with "
                        "version 1 of the order of data, which cannot mix in so little, so that the source would never "
                        "be read; expected a larger weight, or 0",
                        weights[i], period);
    }
  }
}

PeriodMixture::Turn PeriodMixture::turn(std::int64_t sample) const {
  const std::int64_t whole = sample / period;
  std::int64_t place = sample % period;  // among the samples that the sources before `i` left
  std::int64_t left = period;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const std::int64_t before = place * counts_[i] / left;
    if ((place + 1) * counts_[i] / left > before) {
      return {static_cast<std::int32_t>(i), whole * counts_[i] + before};
    }
    place -= before;
    left -= counts_[i];
  }
  throw internal_error("data", "sample {} has no source", sample);
}

std::vector<std::int64_t> PeriodMixture::taken(std::int64_t samples) const {
  const std::int64_t whole = samples / period;
  std::int64_t place = samples % period;  // as in turn()
  std::int64_t left = period;
  std::vector<std::int64_t> out;
  for (const std::int64_t count : counts_) {
    const std::int64_t here = left == 0 ? 0 : place * count / left;
    out.push_back(whole * count + here);
    place -= here;
    left -= count;
  }
  return out;
}

TreeMixture::TreeMixture(std::span<const double> weights) {
  // Divided by the largest first: a sum of large ones might not be finite.
  const double largest = std::ranges::max(weights);
  double sum = 0;
  for (const double weight : weights) sum += weight / largest;
  using Part = std::pair<std::int64_t, std::int32_t>;  // weight and node; of equal ones the earlier comes first
  std::priority_queue<Part, std::vector<Part>, std::greater<>> parts;
  for (const double weight : weights) {
    const auto share = static_cast<std::int64_t>(std::llround(weight / largest / sum * 0x1p52));
    shares_.push_back(std::max(share, std::int64_t{1}));
    parts.emplace(shares_.back(), static_cast<std::int32_t>(nodes_.size()));
    nodes_.push_back({.weight = shares_.back()});
  }
  while (parts.size() > 1) {
    const std::int32_t left = parts.top().second;
    parts.pop();
    const std::int32_t right = parts.top().second;
    parts.pop();
    join(left, right);
    parts.emplace(nodes_.back().weight, root());
  }
}

void TreeMixture::join(std::int32_t left, std::int32_t right) {
  const std::int64_t weight = at(left).weight + at(right).weight;
  const auto slope = (static_cast<Wide>(at(left).weight) << 63) / static_cast<std::uint64_t>(weight);
  nodes_.push_back({.weight = weight, .left = left, .right = right, .slope = static_cast<std::uint64_t>(slope)});
}

Mixture::Turn TreeMixture::turn(std::int64_t sample) const {
  std::int32_t node = root();
  while (!is_source(node)) {
    const Node& n = at(node);
    const std::int64_t before = to_left(n.slope, sample);
    const bool goes_left = to_left(n.slope, sample + 1) > before;
    sample = goes_left ? before : sample - before;
    node = goes_left ? n.left : n.right;
  }
  return {.source = node, .number = sample};
}

std::vector<std::int64_t> TreeMixture::taken(std::int64_t samples) const {
  std::vector<std::int64_t> of(nodes_.size());
  of.back() = samples;
  for (std::int32_t node = root(); !is_source(node); --node) {  // sources come first
    const Node& n = at(node);
    const std::int64_t all = of[static_cast<std::size_t>(node)], left = to_left(n.slope, all);
    of[static_cast<std::size_t>(n.left)] = left;
    of[static_cast<std::size_t>(n.right)] = all - left;
  }
  of.resize(shares_.size());
  return of;
}

std::unique_ptr<const Mixture> make_mixture(std::int64_t version, std::span<const double> weights) {
  const bool good = std::ranges::all_of(weights, [](double w) { return w > 0 && std::isfinite(w); });
  if (weights.empty() || !good) throw internal_error("data", "{} weights that are no mixture", weights.size());
  switch (version) {
    case 1:
      return std::make_unique<PeriodMixture>(weights);
    case 2:
      return std::make_unique<TreeMixture>(weights);
    default:
      throw internal_error("data", "order of data {}", version);
  }
}

}  // namespace octet
