#include "src/data/tree_mixture.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace octet {
namespace {

__extension__ using Wide = unsigned __int128;

/// How many of its first n samples a node gives to its left part: to the nearest of n * slope / 2^63, a half up.
/// n < 2^63, so that 126 bits hold the product.
std::int64_t to_left(std::uint64_t slope, std::int64_t n) {
  return static_cast<std::int64_t>((static_cast<Wide>(slope) * static_cast<Wide>(n) + (Wide{1} << 62)) >> 63);
}

}  // namespace

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

double TreeMixture::most_stray() const {
  double most = 0;
  std::vector<std::vector<std::int64_t>> above(nodes_.size());  // weights from the node up, without the root
  for (std::int32_t node = root(); node >= 0; --node) {
    const auto& way = above[static_cast<std::size_t>(node)];
    const auto weight = static_cast<double>(at(node).weight);
    if (is_source(node)) {
      most = std::max(most, std::accumulate(way.begin(), way.end(), 0.0, [&](double sum, std::int64_t w) {
                        return sum + weight / static_cast<double>(w);
                      }));
      continue;
    }
    for (const std::int32_t part : {at(node).left, at(node).right}) {
      auto& of_part = above[static_cast<std::size_t>(part)];
      of_part = way;
      of_part.push_back(at(part).weight);
    }
  }
  return most;
}

}  // namespace octet
