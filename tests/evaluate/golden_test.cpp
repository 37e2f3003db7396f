// Likelihoods against transformers' on the same models (make_golden.py), in every layout.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/evaluate/windows.h"
#include "tests/evaluate/evaluate_test.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

using test::error_of;
using test::LoadedModel;

struct Golden {
  std::vector<ScoreRequest> requests;
  std::vector<Score> scores;
  std::vector<std::vector<std::int32_t>> documents;
  std::vector<double> sums;
  std::int64_t window = 0;
  std::int32_t bos = 0;
};

/// OCTET_EVALUATE_GOLDEN names another folder, with more samples.
std::string folder_of(const std::string& name) {
  const char* other = std::getenv("OCTET_EVALUATE_GOLDEN");
  return (other == nullptr ? test::golden_folder : std::string(other)) + "/" + name;
}

Golden read_golden(const std::string& name) {
  std::ifstream file(folder_of(name) + "/scores.json");
  const auto json = nlohmann::json::parse(file);
  Golden golden{
      .requests = {}, .scores = {}, .documents = {}, .sums = {}, .window = json["window"], .bos = json["bos"]};
  for (const auto& r : json["requests"]) {
    golden.requests.push_back({r["context"], r["continuation"]});
    golden.scores.push_back({r["log_likelihood"], r["greedy"]});
  }
  for (const auto& d : json["documents"]) {
    golden.documents.push_back(d["tokens"]);
    golden.sums.push_back(d["log_likelihood"]);
  }
  return golden;
}

/// The windows of all documents, and of each window its document.
std::vector<ScoreRequest> windows_of(const Golden& golden, std::vector<std::size_t>& document_of) {
  std::vector<ScoreRequest> requests;
  for (std::size_t d = 0; d < golden.documents.size(); ++d) {
    const auto& tokens = golden.documents[d];
    for (const Window& w : rolling_windows(static_cast<std::int64_t>(tokens.size()), golden.window, golden.window)) {
      ScoreRequest r;
      if (w.context < 0) r.context.push_back(golden.bos);
      r.context.insert(r.context.end(), tokens.begin() + std::max<std::int64_t>(w.context, 0),
                       tokens.begin() + w.first);
      r.continuation.assign(tokens.begin() + w.first, tokens.begin() + w.end);
      requests.push_back(r);
      document_of.push_back(d);
    }
  }
  return requests;
}

class GoldenModel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cases, GoldenModel, testing::Values("odd", "tied", "scaled"));

TEST_P(GoldenModel, LogLikelihoodsAndArgmaxAreThoseOfTransformers) {
  const Golden golden = read_golden(GetParam());
  LoadedModel model(folder_of(GetParam()), {});
  std::int64_t last = 0;
  const auto scores = model.scorer().score(golden.requests, [&](std::int64_t done, std::int64_t) { last = done; });
  EXPECT_EQ(last, static_cast<std::int64_t>(golden.requests.size()));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_NEAR(scores[i].log_likelihood, golden.scores[i].log_likelihood, 1e-4) << i;
    EXPECT_EQ(scores[i].greedy, golden.scores[i].greedy) << i;
  }
}

TEST_P(GoldenModel, RollingPerplexityIsThatOfTransformers) {
  const Golden golden = read_golden(GetParam());
  LoadedModel model(folder_of(GetParam()), {});
  std::vector<std::size_t> document_of;
  const auto scores = model.scorer().score(windows_of(golden, document_of), nullptr);
  std::vector<double> sums(golden.sums.size(), 0.0);
  for (std::size_t i = 0; i < scores.size(); ++i) sums[document_of[i]] += scores[i].log_likelihood;
  for (std::size_t d = 0; d < sums.size(); ++d) {
    const auto tokens = static_cast<double>(golden.documents[d].size());
    const double expected = std::exp(-golden.sums[d] / tokens);
    EXPECT_NEAR(std::exp(-sums[d] / tokens), expected, 1e-5 * expected) << d;
  }
}

// Rows are the same in every layout, so that what the ranks of dp compute is one rank's to the bit.
TEST(ScorerLayouts, DataParallelScoresAreOneRanksToTheBit) {
  const Golden golden = read_golden("odd");
  const auto one = LoadedModel(folder_of("odd"), {.alone = true}).scorer().score(golden.requests, nullptr);
  const auto all = LoadedModel(folder_of("odd"), {}).scorer().score(golden.requests, nullptr);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].log_likelihood, all[i].log_likelihood) << i;
    EXPECT_EQ(one[i].greedy, all[i].greedy) << i;
  }
}

TEST(ScorerLayouts, TensorParallelScoresAreOneRanksWithin1e5) {
  if (test::ranks() % 2 != 0) GTEST_SKIP() << "needs an even number of ranks";
  const Golden golden = read_golden("tied");
  const auto one = LoadedModel(folder_of("tied"), {.alone = true}).scorer().score(golden.requests, nullptr);
  const auto two = LoadedModel(folder_of("tied"), {.tp = 2}).scorer().score(golden.requests, nullptr);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i].log_likelihood, two[i].log_likelihood, 1e-5 * std::abs(one[i].log_likelihood)) << i;
    EXPECT_EQ(one[i].greedy, two[i].greedy) << i;
  }
}

/// Requests one by one share nothing; together choices stand behind their context's only copy.
TEST_P(GoldenModel, SharedContextsChangeLikelihoodsByRoundingAlone) {
  const Golden golden = read_golden(GetParam());
  const ScorePlan plan =
      pack_requests(golden.requests, {.window = golden.window, .row_tokens = 64, .vocab_size = 1000});
  ASSERT_LT(plan.tokens, plan.asked_for * 3 / 4) << "nothing is shared";
  LoadedModel model(folder_of(GetParam()), {.alone = true});
  const auto together = model.scorer().score(golden.requests, nullptr);
  for (std::size_t i = 0; i < together.size(); i += 3) {
    const Score alone = model.scorer().score(std::span(golden.requests).subspan(i, 1), nullptr).front();
    EXPECT_NEAR(together[i].log_likelihood, alone.log_likelihood, 1e-5 * std::abs(alone.log_likelihood)) << i;
    EXPECT_EQ(together[i].greedy, alone.greedy) << i;
  }
}

/// Mean of what `precision` changes of a token's log-likelihood in "tied", in nats.
double mean_change(const LoadedModel::Options& options) {
  const Golden golden = read_golden("tied");
  const auto scores = LoadedModel(folder_of("tied"), options).scorer().score(golden.requests, nullptr);
  double sum = 0;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sum += std::abs(scores[i].log_likelihood - golden.scores[i].log_likelihood);
    tokens += golden.requests[i].continuation.size();
  }
  return sum / static_cast<double>(tokens);
}

TEST(ScorerPrecision, StaysWithinStatedLimits) {
  const double half = mean_change({.precision = Precision::bf16});
  EXPECT_GT(half, 1e-4);  // it is not fp32
  EXPECT_LT(half, 0.01);
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed"}) {
    SCOPED_TRACE(recipe);
    const double eighth = mean_change({.precision = Precision::float8, .recipe = recipe});
    EXPECT_GT(eighth, half);
    EXPECT_LT(eighth, 0.1);
  }
}

TEST(ScorerRefuses, ARequestWithItsNumber) {
  LoadedModel model(folder_of("odd"), {});
  EXPECT_HAS(error_of([&] {
               model.scorer().score(std::vector<ScoreRequest>{{{1}, {1}}, {{}, {1}}}, nullptr);
             }),
             "request 1: its context is empty");
}

}  // namespace
}  // namespace octet
