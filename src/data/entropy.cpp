#include "src/data/entropy.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::size_t symbols = 256;

/// Adds the rows' terms up: a row is the counts of what followed one context.
class RowSum {
 public:
  void add_row(std::span<const std::uint64_t> counts) {
    const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    for (const std::uint64_t n : counts) {
      if (n != 0) nats_ += static_cast<double>(n) * std::log(static_cast<double>(total) / static_cast<double>(n));
    }
    total_ += total;
  }
  double mean() const { return total_ == 0 ? 0.0 : nats_ / static_cast<double>(total_); }

 private:
  double nats_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

ByteEntropyCounter::ByteEntropyCounter()
    : single_(symbols),
      pairs_(symbols * symbols),
      // calloc leaves pages that nobody writes to unallocated.
      triples_(static_cast<std::uint64_t*>(std::calloc(symbols * symbols * symbols, sizeof(std::uint64_t)))) {
  if (!triples_) throw std::bad_alloc();
}

void ByteEntropyCounter::begin() {
  known_ = 0;
}

void ByteEntropyCounter::context(std::int32_t byte) {
  recent_ = ((recent_ << 8) | static_cast<std::uint32_t>(byte)) & 0xFFFFu;
  known_ = std::min(known_ + 1, 2);
}

void ByteEntropyCounter::add(std::span<const std::int32_t> bytes) {
  for (const std::int32_t byte : bytes) {
    if (byte < 0 || byte > 255) throw internal_error("data", "byte entropy of token id {}", byte);
    const auto b = static_cast<std::uint32_t>(byte);
    ++single_[b];
    if (known_ >= 1) ++pairs_[((recent_ & 0xFFu) << 8) | b];
    if (known_ >= 2) ++triples_[(recent_ << 8) | b];
    context(byte);
  }
}

ByteEntropies ByteEntropyCounter::entropies() const {
  RowSum sums[3];
  sums[0].add_row(single_);
  for (std::size_t context = 0; context < symbols; ++context) {
    sums[1].add_row(std::span(pairs_).subspan(context * symbols, symbols));
  }
  for (std::size_t context = 0; context < symbols * symbols; ++context) {
    // A pair that never occurred is no context; skipping it leaves its pages unallocated. The last byte of a context
    // always has a byte before it, so it was counted as a pair.
    if (pairs_[context] != 0) sums[2].add_row({triples_.get() + context * symbols, symbols});
  }
  return {sums[0].mean(), sums[1].mean(), sums[2].mean()};
}

std::optional<ByteEntropies> stream_entropies(const TokenFile& file) {
  if (file.type() != TokenType::u8) return std::nullopt;
  ByteEntropyCounter counter;
  std::vector<std::int32_t> chunk;
  for (std::int64_t begin = 0; begin < file.tokens(); begin += 1 << 18) {
    chunk.resize(static_cast<std::size_t>(std::min(std::int64_t{1 << 18}, file.tokens() - begin)));
    file.read(begin, chunk, 256);
    counter.add(chunk);
  }
  return counter.entropies();
}

std::optional<ByteEntropies> validation_entropies(const Sampler& sampler, std::int64_t batches) {
  if (sampler.config().vocab_size != 256) return std::nullopt;
  const std::int64_t all = sampler.validation_batches();
  const std::int64_t wanted = batches == 0 ? all : std::min(batches, all);
  const std::int64_t samples = std::min(wanted * sampler.config().global_batch, sampler.order().validation_samples());
  ByteEntropyCounter counter;
  std::vector<std::int32_t> window;
  for (std::int64_t v = 0; v < samples; ++v) {
    sampler.read_window(sampler.order().validation_sample(v), window);
    counter.begin();
    counter.context(window.front());
    counter.add(std::span(window).subspan(1));
  }
  return counter.entropies();
}

}  // namespace octet
