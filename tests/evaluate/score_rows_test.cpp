#include "src/evaluate/score_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "src/base/error.h"
#include "src/base/random.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using Ids = std::vector<std::int32_t>;

PackOptions options_of(std::int64_t window) {
  return {.window = window, .row_tokens = window, .vocab_size = 10};
}

/// The tokens that the one at a place sees, itself too.
Ids seen_at(const ScoreRow& row, std::int32_t place) {
  const auto at = [&](std::int32_t token) { return row.tokens.begin() + token; };
  const std::int32_t begin = row.begin[static_cast<std::size_t>(place)];
  if (row.spans.empty() || row.spans[4 * static_cast<std::size_t>(place) + 3] == 0) return {at(begin), at(place + 1)};
  const std::int32_t* spans = &row.spans[4 * static_cast<std::size_t>(place)];
  EXPECT_EQ(spans[2], begin);
  EXPECT_EQ(spans[3], place + 1);
  EXPECT_LE(spans[1], begin);
  Ids seen(at(spans[0]), at(spans[1]));
  seen.insert(seen.end(), at(begin), at(place + 1));
  return seen;
}

std::string refusal_of(const ScoreRequest& request, std::int64_t window = 4) {
  return test::error_of([&] {
    pack_requests(std::vector<ScoreRequest>{{{1}, {2}}, request},
                  {.window = window, .row_tokens = 8, .vocab_size = 10});
  });
}

TEST(ScoreRows, ChoicesOfOneTokenBehindTheSameContextAreOneInput) {
  const std::vector<ScoreRequest> requests{{{1, 2, 3}, {4}}, {{1, 2, 3}, {5}}, {{1, 2, 3}, {6}}};
  const ScorePlan plan = pack_requests(requests, options_of(8));
  ASSERT_EQ(plan.rows.size(), 1u);
  EXPECT_EQ(plan.tokens, 3);
  EXPECT_EQ(plan.rows[0].tokens, (Ids{1, 2, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(plan.rows[0].begin, (Ids{0, 0, 0, 3, 3, 3, 3, 3}));
  EXPECT_EQ(plan.rows[0].predicted_from, (Ids{2, 2, 2}));
  EXPECT_EQ(plan.rows[0].used, 3);
}

TEST(ScoreRows, AnInputThatIsTheBeginningOfAnotherIsReadFromIt) {
  const std::vector<ScoreRequest> requests{{{1, 2}, {3, 4}}, {{1}, {2}}, {{1, 2, 3}, {4, 5}}, {{1, 3}, {5}}};
  const ScorePlan plan = pack_requests(requests, options_of(8));
  EXPECT_EQ(plan.tokens, 4 + 2);  // 1 2 3 4 and 1 3
}

TEST(ScoreRows, WhatIsTooLongLosesTokensAtTheLeft) {
  const ScorePlan plan = pack_requests(std::vector<ScoreRequest>{{{1, 2, 3, 4, 5}, {6, 7}}}, options_of(4));
  EXPECT_EQ(plan.rows.at(0).tokens, (Ids{3, 4, 5, 6}));  // the last 4 + 1, without the last one
  EXPECT_EQ(plan.rows.at(0).predicted_from, (Ids{2, 3}));
  EXPECT_EQ(plan.rows.at(0).targets, (Ids{6, 7}));
}

// Attention to the rest of a long row would cost more than that to the texts.
TEST(ScoreRows, FillingStandsInShortDocuments) {
  const ScorePlan plan = pack_requests(std::vector<ScoreRequest>{{{1, 2}, {3}}}, options_of(300));
  const ScoreRow& row = plan.rows.at(0);
  ASSERT_EQ(row.begin.size(), 300u);
  EXPECT_EQ(row.tokens.size(), 300u);
  for (std::size_t t = 2; t < 300; ++t) EXPECT_EQ(row.begin[t], t < 130 ? 2 : t < 258 ? 130 : 258) << t;
  EXPECT_TRUE(std::equal(row.begin.begin() + 2, row.begin.end(), row.origin.begin() + 2));
}

// Attention within documents of a GPU is for 1,024 of them in a row at most.
TEST(ScoreRows, FillingOfALongRowIsInFewDocuments) {
  const ScorePlan plan = pack_requests(std::vector<ScoreRequest>{{{1, 2}, {3}}}, options_of(1 << 20));
  std::int64_t documents = 0;
  for (std::size_t t = 0; t < 1 << 20; ++t) documents += plan.rows[0].begin[t] == static_cast<std::int32_t>(t) ? 1 : 0;
  EXPECT_EQ(documents, 1 + 128);
}

TEST(ScoreRows, RequestsWithoutContinuationAreInNoRow) {
  EXPECT_TRUE(pack_requests(std::vector<ScoreRequest>{{{1}, {}}}, options_of(4)).rows.empty());
}

TEST(ScoreRows, RefusesWhatTheModelCannotScore) {
  EXPECT_NE(refusal_of({{}, {1}}).find("request 1: its context is empty"), std::string::npos);
  EXPECT_NE(refusal_of({{1}, {1, 2, 3, 4, 5}}).find("request 1: its continuation has 5 tokens, and the model sees 4"),
            std::string::npos);
  EXPECT_NE(refusal_of({{1}, {10}}).find("request 1: token id 10 is not in the model's vocabulary of 10"),
            std::string::npos);
  EXPECT_NE(refusal_of({{-1}, {1}}).find("token id -1"), std::string::npos);
}

TEST(ScoreRows, WhatChoicesShareStandsThereOnce) {
  const std::vector<ScoreRequest> requests{{{1, 2, 3}, {4, 5, 6}}, {{1, 2, 3}, {7, 8}}, {{1, 2, 3}, {7}}};
  PackOptions options = options_of(10);
  options.least_shared = 3;
  const ScorePlan plan = pack_requests(requests, options);
  ASSERT_EQ(plan.rows.size(), 1u);
  const ScoreRow& row = plan.rows[0];
  EXPECT_EQ(row.tokens, (Ids{1, 2, 3, 7, 4, 5, 0, 0, 0, 0}));
  EXPECT_EQ(row.begin, (Ids{0, 0, 0, 3, 4, 4, 6, 6, 6, 6}));
  EXPECT_EQ(row.origin, (Ids{0, 0, 0, 0, 1, 1, 6, 6, 6, 6}));
  EXPECT_EQ(Ids(row.spans.begin() + 12, row.spans.begin() + 24), (Ids{0, 3, 3, 4, 0, 3, 4, 5, 0, 3, 4, 6}));
  EXPECT_EQ(row.requests, (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(row.predicted_from, (Ids{2, 3, 2, 4, 5, 2}));
  EXPECT_EQ(plan.tokens, 6);
  EXPECT_EQ(plan.asked_for, 5 + 4 + 3);
}

std::vector<ScoreRequest> random_requests(std::uint64_t seed, int count, std::uint64_t ids) {
  std::vector<ScoreRequest> requests;
  std::uint64_t n = 0;
  const auto random = [&](std::uint64_t below) { return random_bits({.seed = seed, .stream = 0}, n++) % below; };
  for (int i = 0; i < count; ++i) {
    ScoreRequest r;
    for (std::uint64_t t = 0, length = 1 + random(12); t < length; ++t) r.context.push_back(std::int32_t(random(ids)));
    for (std::uint64_t t = 0, length = random(8); t < length; ++t) r.continuation.push_back(std::int32_t(random(ids)));
    requests.push_back(r);
  }
  return requests;
}

/// Every token of every continuation stands once behind what the request has before it, at its position.
void expect_own_contexts(const ScorePlan& plan, const std::vector<ScoreRequest>& requests, const PackOptions& options) {
  std::vector<int> seen(requests.size(), 0);
  std::int64_t used = 0;
  for (const ScoreRow& row : plan.rows) {
    ASSERT_EQ(std::ssize(row.tokens), options.row_tokens);
    used += row.used;
    std::size_t at = 0;
    for (const std::int64_t number : row.requests) {
      const ScoreRequest& r = requests[static_cast<std::size_t>(number)];
      ++seen[static_cast<std::size_t>(number)];
      Ids whole = r.context;
      for (const std::int32_t target : r.continuation) {
        EXPECT_EQ(row.targets[at], target);
        const std::int32_t behind = row.predicted_from[at++];
        const Ids before = seen_at(row, behind);
        EXPECT_EQ(std::ssize(before), behind - row.origin[static_cast<std::size_t>(behind)] + 1);
        ASSERT_LE(before.size(), whole.size());
        EXPECT_TRUE(std::equal(before.rbegin(), before.rend(), whole.rbegin()));
        EXPECT_TRUE(before.size() == whole.size() || std::ssize(before) > options.window - std::ssize(r.continuation));
        whole.push_back(target);
      }
    }
    EXPECT_EQ(at, row.targets.size());
  }
  EXPECT_EQ(used, plan.tokens);
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(seen[i], requests[i].continuation.empty() ? 0 : 1) << i;
}

TEST(ScoreRows, EveryTokenStandsBehindItsOwnContext) {
  std::int64_t last = 0;
  for (const std::int64_t least_shared : {1, 5, 16}) {
    const std::vector<ScoreRequest> requests = random_requests(1, 500, 3);
    const PackOptions options{.window = 9, .row_tokens = 32, .vocab_size = 3, .least_shared = least_shared};
    const ScorePlan plan = pack_requests(requests, options);
    expect_own_contexts(plan, requests, options);
    EXPECT_GT(plan.tokens, last) << "sharing more saves more";
    last = plan.tokens;
    // Most rows are nearly full.
    EXPECT_LT(std::ssize(plan.rows) * options.row_tokens, plan.tokens * 5 / 4 + options.row_tokens);
  }
}

}  // namespace
}  // namespace octet
