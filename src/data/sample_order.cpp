#include "src/data/sample_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

/// Keys of data that no run's seed may change.
constexpr RandomKey split_key{0, RandomPurpose::data_split, 0};
constexpr RandomKey validation_order_key{0, RandomPurpose::data_split, 1};

/// A key of its own for each source and epoch: the seed is replaced by 64 random bits made from all three.
RandomKey epoch_key(std::uint64_t seed, std::int32_t source, std::int64_t epoch) {
  const RandomKey parent{seed, RandomPurpose::data_order, static_cast<std::uint32_t>(source)};
  return {random_bits(parent, static_cast<std::uint64_t>(epoch)), RandomPurpose::data_order, 0};
}

std::int64_t validation_windows(std::int64_t windows, double fraction) {
  if (fraction == 0) return 0;
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(std::llround(static_cast<double>(windows) * fraction)));
}

}  // namespace

WindowSplit::WindowSplit(const std::string& name, std::int64_t windows, double fraction)
    : order_(split_key, static_cast<std::uint64_t>(windows)), validation_(validation_windows(windows, fraction)) {
  if (validation_ >= windows) {
    throw usage_error("data",
                      "{}: {} of its {} samples go to validation (data.validation_fraction {}), which leaves none to "
                      "train on; it needs more text, a smaller fraction or a shorter train.seq_len",
                      name, validation_, windows, fraction);
  }
}

SampleOrder::SampleOrder(const std::vector<Source>& sources, SourceTurns turns, double validation_fraction,
                         std::uint64_t seed)
    : seed_(seed), turns_(std::move(turns)) {
  if (turns_.sources() != static_cast<std::int64_t>(sources.size())) {
    throw internal_error("data", "turns of {} sources for {}", turns_.sources(), sources.size());
  }
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {
    throw usage_error("data", "data.validation_fraction is {}; expected 0 <= fraction < 1", validation_fraction);
  }
  std::int64_t end = 0;
  for (const Source& source : sources) {
    splits_.emplace_back(source.name, source.windows, validation_fraction);
    end += splits_.back().validation();
    validation_ends_.push_back(end);
  }
}

Sample SampleOrder::train_sample(std::int64_t g) const {
  const auto [source, number] = turns_.turn(g);
  const WindowSplit& part = split(source);
  const std::int64_t epoch = number / part.train();
  const Permutation order(epoch_key(seed_, source, epoch), static_cast<std::uint64_t>(part.train()));
  const auto place = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(number % part.train())));
  return {source, part.train_window(place), epoch};
}

Sample SampleOrder::validation_sample(std::int64_t v) const {
  const Permutation order(validation_order_key, static_cast<std::uint64_t>(validation_samples()));
  const auto place = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(v)));
  const auto end = std::ranges::upper_bound(validation_ends_, place);
  const auto source = static_cast<std::int32_t>(end - validation_ends_.begin());
  const std::int64_t begin = source == 0 ? 0 : *std::prev(end);
  return {source, split(source).validation_window(place - begin), 0};
}

namespace {

// Eight would do for large sizes. Halves of one or two bits mix slowly: with 24 rounds all orders of five or six
// values come equally often (tests/data/permutation_test.cpp), and a sample still costs but 2 microseconds.
constexpr int rounds = 24;

std::uint64_t mask(int bits) {
  return (std::uint64_t{1} << bits) - 1;  // bits <= 32
}

}  // namespace

Permutation::Permutation(const RandomKey& key, std::uint64_t size) : key_(key), size_(size) {
  if (size == 0) throw internal_error("data", "permutation of nothing");
  const int bits = std::bit_width(size - 1);
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
}

std::uint64_t Permutation::pass(std::uint64_t value) const {
  std::uint64_t high = value >> low_bits_;
  std::uint64_t low = value & mask(low_bits_);
  for (int round = 0; round < rounds; ++round) {
    // The round number stands above the half's 32 bits, so no two rounds share a function. Each half is changed by a
    // function of the other one alone, which can be undone: that is what makes it a bijection.
    const std::uint64_t tag = static_cast<std::uint64_t>(round) << 32;
    if (round % 2 == 0) {
      low ^= random_bits(key_, tag | high) & mask(low_bits_);
    } else {
      high ^= random_bits(key_, tag | low) & mask(high_bits_);
    }
  }
  return (high << low_bits_) | low;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  if (index >= size_) throw internal_error("data", "permutation of {} asked for index {}", size_, index);
  std::uint64_t value = pass(index);
  while (value >= size_) value = pass(value);
  return value;
}

}  // namespace octet
