#include "src/data/period_mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

}  // namespace

PeriodMixture::PeriodMixture(std::span<const double> weights) {
  counts_ = apportion(weights, period);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) {
      throw usage_error("data",
                        "data: the weight {} is less than one sample in {}, and this run has an order of data that "
                        "cannot mix it in: it would never be read; expected a larger one, or 0",
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

}  // namespace octet
