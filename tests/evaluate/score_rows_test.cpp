#include "src/evaluate/score_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "src/base/error.h"
#include "src/base/random.h"

namespace octet {
namespace {

using Ids = std::vector<std::int32_t>;

std::string refused(const ScoreRequest& request, std::int64_t window = 4) {
  try {
    pack_requests(std::vector<ScoreRequest>{{{1}, {2}}, request}, window, 8, 10);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(ScoreRows, ChoicesOfOneTokenBehindTheSameContextAreOneInput) {
  const std::vector<ScoreRequest> requests{{{1, 2, 3}, {4}}, {{1, 2, 3}, {5}}, {{1, 2, 3}, {6}}};
  const ScorePlan plan = pack_requests(requests, 8, 8, 10);
  ASSERT_EQ(plan.rows.size(), 1u);
  EXPECT_EQ(plan.tokens, 3);
  EXPECT_EQ(plan.rows[0].tokens, (Ids{1, 2, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(plan.rows[0].begin, (Ids{0, 0, 0, 3, 3, 3, 3, 3}));
  EXPECT_EQ(plan.rows[0].behind, (Ids{2, 2, 2}));
  EXPECT_EQ(plan.rows[0].used, 3);
}

TEST(ScoreRows, AnInputThatIsTheBeginningOfAnotherIsReadFromIt) {
  const std::vector<ScoreRequest> requests{{{1, 2}, {3, 4}}, {{1}, {2}}, {{1, 2, 3}, {4, 5}}, {{1, 3}, {5}}};
  const ScorePlan plan = pack_requests(requests, 8, 8, 10);
  EXPECT_EQ(plan.tokens, 4 + 2);  // 1 2 3 4 and 1 3
}

TEST(ScoreRows, WhatIsTooLongLosesTokensAtTheLeft) {
  const ScorePlan plan = pack_requests(std::vector<ScoreRequest>{{{1, 2, 3, 4, 5}, {6, 7}}}, 4, 4, 10);
  EXPECT_EQ(plan.rows.at(0).tokens, (Ids{3, 4, 5, 6}));  // the last 4 + 1, without the last one
  EXPECT_EQ(plan.rows.at(0).behind, (Ids{2, 3}));
  EXPECT_EQ(plan.rows.at(0).targets, (Ids{6, 7}));
}

TEST(ScoreRows, RequestsWithoutContinuationAreInNoRow) {
  EXPECT_TRUE(pack_requests(std::vector<ScoreRequest>{{{1}, {}}}, 4, 4, 10).rows.empty());
}

TEST(ScoreRows, RefusesWhatTheModelCannotScore) {
  EXPECT_NE(refused({{}, {1}}).find("request 1: its context is empty"), std::string::npos);
  EXPECT_NE(refused({{1}, {1, 2, 3, 4, 5}}).find("request 1: its continuation has 5 tokens, and the model sees 4"),
            std::string::npos);
  EXPECT_NE(refused({{1}, {10}}).find("request 1: token id 10 is not in the model's vocabulary of 10"),
            std::string::npos);
  EXPECT_NE(refused({{-1}, {1}}).find("token id -1"), std::string::npos);
}

// Every token of every continuation stands once behind what the request has before it, whatever shares what.
TEST(ScoreRows, EveryTokenStandsBehindItsOwnContext) {
  std::vector<ScoreRequest> requests;
  std::uint64_t n = 0;
  const auto random = [&](std::uint64_t below) { return random_bits({.seed = 1, .stream = 0}, n++) % below; };
  for (int i = 0; i < 500; ++i) {
    ScoreRequest r;
    for (std::uint64_t t = 0, length = 1 + random(12); t < length; ++t) r.context.push_back(std::int32_t(random(3)));
    for (std::uint64_t t = 0, length = random(8); t < length; ++t) r.continuation.push_back(std::int32_t(random(3)));
    requests.push_back(r);
  }
  constexpr std::int64_t window = 9, length = 32;
  const ScorePlan plan = pack_requests(requests, window, length, 3);
  std::vector<int> seen(requests.size(), 0);
  std::int64_t used = 0;
  for (const ScoreRow& row : plan.rows) {
    ASSERT_EQ(row.tokens.size(), std::size_t{length});
    used += row.used;
    std::size_t at = 0;
    for (const std::int64_t number : row.requests) {
      const ScoreRequest& r = requests[static_cast<std::size_t>(number)];
      ++seen[static_cast<std::size_t>(number)];
      Ids whole = r.context;
      for (const std::int32_t target : r.continuation) {
        EXPECT_EQ(row.targets[at], target);
        const std::int32_t behind = row.behind[at++], begin = row.begin[static_cast<std::size_t>(behind)];
        const Ids before(row.tokens.begin() + begin, row.tokens.begin() + behind + 1);
        ASSERT_LE(before.size(), whole.size());
        EXPECT_TRUE(std::equal(before.rbegin(), before.rend(), whole.rbegin()));
        EXPECT_TRUE(before.size() == whole.size() || before.size() >= window - r.continuation.size() + 1);
        whole.push_back(target);
      }
    }
    EXPECT_EQ(at, row.targets.size());
  }
  EXPECT_EQ(used, plan.tokens);
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(seen[i], requests[i].continuation.empty() ? 0 : 1) << i;
  // Most rows are nearly full.
  EXPECT_LT(static_cast<std::int64_t>(plan.rows.size()) * length, used * 5 / 4 + length);
}

}  // namespace
}  // namespace octet
