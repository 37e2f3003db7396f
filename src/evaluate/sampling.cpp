#include "src/evaluate/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/base/error.h"
#include "src/base/random.h"

namespace octet {
namespace {

/// Keeps the most likely tokens, in falling order, until they have top_p of the whole. Tokens that are less likely than
/// (1 - top_p) / tokens have less than 1 - top_p between them, and need not be sorted.
void keep_most_likely(const std::vector<double>& p, double top_p, std::vector<std::int32_t>& tokens) {
  const double whole = std::accumulate(p.begin(), p.end(), 0.0);
  const double least = (1 - top_p) * whole / static_cast<double>(p.size());
  std::erase_if(tokens, [&](std::int32_t token) { return p[static_cast<std::size_t>(token)] < least; });
  std::ranges::stable_sort(tokens, [&](std::int32_t a, std::int32_t b) {
    return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)];
  });
  double sum = 0;
  const auto reaches = [&](std::int32_t token) { return (sum += p[static_cast<std::size_t>(token)]) >= top_p * whole; };
  const auto last = std::ranges::find_if(tokens, reaches);
  if (last != tokens.end()) tokens.erase(last + 1, tokens.end());
}

}  // namespace

std::int32_t choose_token(std::span<const float> logits, const Sampling& sampling, std::int64_t position) {
  if (std::ranges::any_of(logits, [](float x) { return !std::isfinite(x); })) {
    throw usage_error("evaluate",
                      "the logits behind token {} are not finite: the weights are not, or are too large for the "
                      "precision",
                      position);
  }
  const auto most = std::ranges::max_element(logits);
  if (sampling.temperature == 0) return static_cast<std::int32_t>(most - logits.begin());
  std::vector<double> p(logits.size());
  std::ranges::transform(logits, p.begin(), [&](float x) {
    return std::exp((static_cast<double>(x) - static_cast<double>(*most)) / sampling.temperature);
  });
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  if (sampling.top_p < 1) keep_most_likely(p, sampling.top_p, tokens);
  double sum = 0;
  for (const std::int32_t token : tokens) sum += p[static_cast<std::size_t>(token)];
  const RandomKey key{.seed = sampling.seed, .purpose = RandomPurpose::generated_tokens};
  double left = sum * random_uniform(key, static_cast<std::uint64_t>(position));
  for (const std::int32_t token : tokens) {
    left -= p[static_cast<std::size_t>(token)];
    if (left < 0) return token;
  }
  return tokens.back();  // what rounding left
}

}  // namespace octet
