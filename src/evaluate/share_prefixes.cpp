#include "src/evaluate/share_prefixes.h"

#include <algorithm>

namespace octet {
namespace {

using Tokens = std::vector<std::int32_t>;

/// The best division into groups of the texts before a given one: how many tokens it has, where its last group begins,
/// and how many tokens that group shares.
struct Division {
  std::int64_t tokens = 0;
  std::size_t last = 0;
  std::int64_t shared = 0;
};

/// For each text but the first: how many tokens at its beginning are the same as in the text before it.
std::vector<std::int64_t> common_beginnings(std::span<const Tokens* const> texts) {
  std::vector<std::int64_t> out(texts.size(), 0);
  for (std::size_t i = 1; i < texts.size(); ++i) {
    out[i] = std::ranges::mismatch(*texts[i - 1], *texts[i]).in1 - texts[i - 1]->begin();
  }
  return out;
}

}  // namespace

std::vector<PrefixGroup> share_prefixes(std::span<const Tokens* const> texts, std::int64_t least, std::int64_t room) {
  const std::vector<std::int64_t> common = common_beginnings(texts);
  std::vector<Division> best(texts.size() + 1);
  for (std::size_t end = 1; end <= texts.size(); ++end) {
    std::int64_t shared = std::ssize(*texts[end - 1]), tokens = shared;
    best[end] = {best[end - 1].tokens + tokens, end - 1, 0};
    for (std::size_t first = end - 1; first-- > 0;) {
      const std::int64_t before = shared, others = static_cast<std::int64_t>(end - first) - 2;
      shared = std::min(shared, common[first + 1]);
      tokens += std::ssize(*texts[first]) - shared + others * (before - shared);
      if (shared < least || tokens > room) break;  // both only get worse with more texts
      if (const std::int64_t all = best[first].tokens + tokens; all < best[end].tokens)
        best[end] = {all, first, shared};
    }
  }
  std::vector<PrefixGroup> groups;
  for (std::size_t end = texts.size(); end > 0; end = best[end].last) {
    groups.push_back({best[end].last, end - best[end].last, best[end].shared});
  }
  std::ranges::reverse(groups);
  return groups;
}

}  // namespace octet
