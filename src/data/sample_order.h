#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/random.h"
#include "src/data/source_turns.h"

namespace octet {

/// A pseudo-random bijection of [0, size) in O(1) memory: an alternating Feistel network with Philox as its round
/// function over the smallest power of two that holds `size`, and cycle walking (values that fall outside are sent
/// through again; fewer than two passes on average). J. Black and P. Rogaway, "Ciphers with arbitrary finite
/// domains", CT-RSA 2002.
class Permutation {
 public:
  /// size >= 1. The same key and size are the same permutation everywhere and for ever: data order depends on it.
  Permutation(const RandomKey& key, std::uint64_t size);

  std::uint64_t size() const { return size_; }
  /// index < size().
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t pass(std::uint64_t value) const;

  RandomKey key_;
  std::uint64_t size_;
  int high_bits_;
  int low_bits_;
};

/// Splits a source's windows into training and validation.
///
/// Windows are drawn by a permutation with a fixed key: the split depends on the number of windows and the fraction
/// alone, never on seed, step or layout, so that runs with different seeds are measured on the same text, and
/// a larger fraction only adds windows. Single windows spread over the whole text are taken rather than a block at
/// its end, because a block's text is often unlike the rest (last folder, last author). The price is that a
/// validation window's neighbours are trained on; its targets are not: windows share no target token.
class WindowSplit {
 public:
  /// There is at least one validation window for fraction > 0. Usage error when no window is left to train on; `name`
  /// is the source's, for the message. Requires windows >= 1 and 0 <= fraction < 1.
  WindowSplit(const std::string& name, std::int64_t windows, double fraction);

  std::int64_t train() const { return static_cast<std::int64_t>(order_.size()) - validation_; }
  std::int64_t validation() const { return validation_; }
  /// The i-th window of either part: i in [0, train()) or [0, validation()).
  std::int64_t train_window(std::int64_t i) const { return window(validation_ + i); }
  std::int64_t validation_window(std::int64_t i) const { return window(i); }

 private:
  std::int64_t window(std::int64_t i) const { return static_cast<std::int64_t>(order_(static_cast<std::uint64_t>(i))); }

  Permutation order_;
  std::int64_t validation_;
};

struct Sample {
  std::int32_t source = 0;
  std::int64_t window = 0;
  std::int64_t epoch = 0;  ///< of its source; 0 for validation
};

/// Which window of which source is sample g, for any g, in O(log sources) for usual
/// weights: no files, no ranks, no state.
/// Every training window of a source comes exactly once in each of its epochs; each epoch is a new permutation.
class SampleOrder {
 public:
  struct Source {
    std::string name;
    std::int64_t windows = 0;
  };
  /// `turns` are of the same sources.
  SampleOrder(const std::vector<Source>& sources, SourceTurns turns, double validation_fraction, std::uint64_t seed);

  /// Sample g = step * global_batch + i, any g >= 0.
  Sample train_sample(std::int64_t g) const;
  /// All sources' validation windows in one fixed, mixed order, so that the first n are a fair part of the whole;
  /// v in [0, validation_samples()).
  Sample validation_sample(std::int64_t v) const;
  std::int64_t validation_samples() const { return validation_ends_.back(); }

  const SourceTurns& turns() const { return turns_; }
  const WindowSplit& split(std::int32_t source) const { return splits_[static_cast<std::size_t>(source)]; }

 private:
  std::uint64_t seed_;
  SourceTurns turns_;
  std::vector<WindowSplit> splits_;
  std::vector<std::int64_t> validation_ends_;  ///< running sum over the sources
};

}  // namespace octet
