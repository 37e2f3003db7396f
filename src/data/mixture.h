#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace octet {

/// Which rule decides the order of a run's data. A run keeps the one that it began with: checkpoints hold its number,
/// and one that holds none is of version 1.
inline constexpr std::int64_t newest_data_order = 2;

/// Shares samples out to sources by weight, as a pure function of the sample's index: nothing is stored, and any sample
/// is found without those before it. Weights are shares of samples, which are all of the same length: shares of tokens.
class Mixture {
 public:
  virtual ~Mixture() = default;

  struct Turn {
    std::int32_t source;
    std::int64_t number;  ///< how many samples this source has had before
  };
  /// sample >= 0.
  virtual Turn turn(std::int64_t sample) const = 0;

  /// How many of samples 0 to `samples` - 1 each source has.
  virtual std::vector<std::int64_t> taken(std::int64_t samples) const = 0;

  /// Whole numbers in the ratio of the sources' shares of the samples. Together with the version they decide the order.
  virtual std::span<const std::int64_t> shares() const = 0;
};

/// The mixture of that version of the order: 1 is PeriodMixture, 2 TreeMixture. Internal error for weights that are not
/// positive and finite, or for none; usage error for those that the version cannot mix.
std::unique_ptr<const Mixture> make_mixture(std::int64_t version, std::span<const double> weights);

/// Version 1 of the order, for runs that began with it: O(sources) time and memory.
///
/// Over each period of 65,536 samples, counted from sample 0, a source gets exactly its count, which is its share of
/// the weights times 65,536, rounded so that the counts add up (largest remainder). Inside a period the sources are
/// interleaved by Bresenham's line, source by source among what the earlier ones left. What the earlier ones stray adds
/// up: up to 19 samples in a window for 100 sources with weights 1/k in rising order.
class PeriodMixture final : public Mixture {
 public:
  static constexpr std::int64_t period = 65536;

  /// Positive weights. Usage error for one whose share rounds to no sample in a period.
  explicit PeriodMixture(std::span<const double> weights);

  Turn turn(std::int64_t sample) const override;
  std::vector<std::int64_t> taken(std::int64_t samples) const override;
  std::span<const std::int64_t> shares() const override { return counts_; }

 private:
  std::vector<std::int64_t> counts_;
};

/// Version 2 of the order: O(depth) time a sample, and a few numbers a source.
///
/// A tree of two-way choices: each node sends its samples, in their order, left or right by a line of the exact slope
/// (left gets floor(n p + 1/2) of its first n). Such a choice keeps both parts of any window of its samples within one
/// sample of their share. So in any window of the mixture a source deviates from its share by less than
///
///     1 + w / w_1 + w / w_2 + ...,   w: its weight, w_j: those of the nodes between it and the root
///
/// The tree is Huffman's: the two lightest parts are joined until one is left. Towards the root weights then grow at
/// least like Fibonacci's numbers, so that the sum is at most 3.4 for any weights, and 2 for equal ones; a dominating
/// source is a child of the root, and its bound is 1. (The window's length does not matter: shares are exact to one
/// part in 2^52, not rounded to a period.)
class TreeMixture final : public Mixture {
 public:
  /// Positive weights of any size: the order depends on what each is of their sum, in steps of 2^-52, one at least.
  explicit TreeMixture(std::span<const double> weights);

  Turn turn(std::int64_t sample) const override;
  std::vector<std::int64_t> taken(std::int64_t samples) const override;
  std::span<const std::int64_t> shares() const override { return shares_; }

 private:
  struct Node {
    std::int64_t weight = 0;
    std::int32_t left = -1, right = -1;  ///< nodes; none for a source, which is node 0 to sources - 1
    std::uint64_t slope = 0;             ///< of 2^63: the left part
  };
  bool is_source(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)].left < 0; }
  const Node& at(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }
  std::int32_t root() const { return static_cast<std::int32_t>(nodes_.size()) - 1; }
  void join(std::int32_t left, std::int32_t right);

  std::vector<std::int64_t> shares_;
  std::vector<Node> nodes_;  ///< children before their parents
};

}  // namespace octet
