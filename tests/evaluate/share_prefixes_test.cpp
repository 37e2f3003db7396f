#include "src/evaluate/share_prefixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "src/base/random.h"

namespace octet {
namespace {

using Ids = std::vector<std::int32_t>;

std::vector<PrefixGroup> groups_of(const std::vector<Ids>& texts, std::int64_t least, std::int64_t room) {
  std::vector<const Ids*> places;
  places.reserve(texts.size());
  for (const Ids& text : texts) places.push_back(&text);
  return share_prefixes(places, least, room);
}

/// Tokens of a group, or none where it is not allowed.
std::optional<std::int64_t> tokens_of(const std::vector<Ids>& texts, std::size_t first, std::size_t end,
                                      std::int64_t least, std::int64_t room) {
  if (end - first == 1) return std::ssize(texts[first]);
  std::int64_t shared = std::ssize(texts[first]), tokens = 0;
  for (std::size_t i = first; i < end; ++i) {
    shared = std::min<std::int64_t>(shared, std::ranges::mismatch(texts[first], texts[i]).in1 - texts[first].begin());
    tokens += std::ssize(texts[i]);
  }
  tokens -= static_cast<std::int64_t>(end - first - 1) * shared;
  if (shared < least || tokens > room) return {};
  return tokens;
}

TEST(SharePrefixes, ChoicesBehindAContextAreAGroup) {
  const std::vector<Ids> texts{{1, 2, 3, 4}, {1, 2, 3, 5}, {2, 2, 2}, {3, 1, 1, 1}, {3, 1, 1, 2, 2}, {3, 1, 1, 3}};
  EXPECT_EQ(groups_of(texts, 2, 100), (std::vector<PrefixGroup>{{0, 2, 3}, {2, 1, 0}, {3, 3, 3}}));
}

TEST(SharePrefixes, FewInCommonIsLeftAlone) {
  EXPECT_EQ(groups_of({{1, 2, 3}, {1, 2, 4}}, 3, 100).size(), 2u);
}

TEST(SharePrefixes, GroupsFitIntoTheRoom) {
  const std::vector<Ids> texts{{1, 1, 1}, {1, 1, 2}, {1, 1, 3}, {1, 1, 4}, {1, 1, 5}};
  EXPECT_EQ(groups_of(texts, 1, 4), (std::vector<PrefixGroup>{{0, 2, 2}, {2, 2, 2}, {4, 1, 0}}));
}

TEST(SharePrefixes, NoDivisionHasFewerTokens) {
  std::uint64_t n = 0;
  const auto random = [&](std::uint64_t below) { return random_bits({.seed = 2, .stream = 0}, n++) % below; };
  int with_groups = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Ids> texts;
    for (std::uint64_t i = 0, count = 1 + random(9); i < count; ++i) {
      Ids text;
      for (std::uint64_t t = 0, length = 1 + random(6); t < length; ++t) text.push_back(std::int32_t(random(2)));
      text.push_back(2);  // none begins with another
      texts.push_back(text);
    }
    std::ranges::sort(texts);
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());  // clang 14 has no ranges::unique
    const auto least = static_cast<std::int64_t>(1 + random(3)), room = static_cast<std::int64_t>(7 + random(10));

    std::int64_t tokens = 0;
    std::size_t next = 0;
    for (const PrefixGroup& group : groups_of(texts, least, room)) {
      EXPECT_EQ(group.first, next);
      next += group.count;
      const auto cost = tokens_of(texts, group.first, next, least, room);
      ASSERT_TRUE(cost.has_value());
      tokens += *cost;
      with_groups += group.count > 1;
    }
    EXPECT_EQ(next, texts.size());

    std::function<std::int64_t(std::size_t)> fewest = [&](std::size_t first) -> std::int64_t {
      if (first == texts.size()) return 0;
      std::int64_t best = 1 << 20;
      for (std::size_t end = first + 1; end <= texts.size(); ++end) {
        if (const auto cost = tokens_of(texts, first, end, least, room)) best = std::min(best, *cost + fewest(end));
      }
      return best;
    };
    EXPECT_EQ(tokens, fewest(0));
  }
  EXPECT_GT(with_groups, 100);
}

}  // namespace
}  // namespace octet
