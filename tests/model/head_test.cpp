// The head's loop over chunks of tokens, on micro-batches of more than one chunk.
#include <gtest/gtest.h>

#include "src/ops/cross_entropy.h"
#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::LocalState;

struct Result {
  double loss = 0, evaluated = 0;  ///< sums over tokens, of forward_backward and of evaluate
  std::vector<std::vector<double>> gradients;
  std::vector<std::string> names;
};

constexpr std::int64_t sequences = 5, seq_len = 250, tokens_count = sequences * seq_len;

/// All sequences in micro-batches of `micro_batch`; gradients of the micro-batches are summed in double.
Result run_head(Precision precision, bool tied, std::int64_t micro_batch) {
  ModelConfig config = test::small_model(tied);
  config.layers = 1;
  std::vector<std::int32_t> tokens, targets;
  for (std::uint64_t i = 0; i < tokens_count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random_bits({.seed = 3, .stream = 0}, i) % 48));
    targets.push_back(static_cast<std::int32_t>(random_bits({.seed = 3, .stream = 1}, i) % 48));
  }
  const auto stream = cpu_device().make_stream();
  NoExchange exchange;
  Llama llama({config, precision, {}, micro_batch, seq_len}, *stream, exchange, nullptr);
  Result result;
  LocalState state(llama.parameters());
  for (const ParameterSpec& p : llama.parameters().parameters) {
    result.names.push_back(p.name);
    result.gradients.emplace_back(static_cast<std::size_t>(p.shape.elements()), 0.0);
  }
  for (std::int64_t begin = 0; begin < tokens_count; begin += micro_batch * seq_len) {
    float loss = 0, evaluated = 0;
    llama.forward_backward({tokens.data() + begin, targets.data() + begin, 1.0f / tokens_count, &loss}, state, state);
    llama.evaluate({tokens.data() + begin, targets.data() + begin, 1.0f, &evaluated}, state);
    result.loss += double{loss};
    result.evaluated += double{evaluated};
    for (std::size_t i = 0; i < state.gradients.size(); ++i) {
      for (std::size_t e = 0; e < state.gradients[i].size(); ++e) {
        result.gradients[i][e] += double{state.gradients[i][e]};
      }
    }
  }
  return result;
}

TEST(HeadChunks, OfManyTokensAreMultiplesOfAGpusTiles) {
  constexpr std::int64_t gpu = std::int64_t{1} << 30, cpu = std::int64_t{1} << 28;
  EXPECT_EQ(Head::chunk_tokens(128256, gpu), 2048);  // 2093 have room
  EXPECT_EQ(Head::chunk_tokens(256000, gpu), 1024);
  EXPECT_EQ(Head::chunk_tokens(256, gpu), 4096);
  EXPECT_EQ(Head::chunk_tokens(128256, cpu), 512);
  EXPECT_EQ(Head::chunk_tokens(100000, cpu), 656);  // a multiple of 16
  EXPECT_EQ(Head::chunk_tokens(1 << 30, cpu), 16);
}

// Every value of a token is computed from its own sequence alone, so that in bf16, too, the roundings are the same and
// only fp32 sums over tokens have another order.
TEST(HeadChunks, OneMicroBatchOfSeveralChunksEqualsSeveralOfOneChunk) {
  const std::int64_t chunk = Head::chunk_tokens(48, cpu_kernels().logits_bytes);
  ASSERT_LT(chunk, tokens_count);
  ASSERT_NE(tokens_count % chunk, 0);  // the last chunk is shorter
  ASSERT_LT(2 * seq_len, chunk);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const bool tied : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{}", name_of(precision), tied ? ", tied" : ""));
      const Result whole = run_head(precision, tied, sequences), parts = run_head(precision, tied, 1);
      EXPECT_NEAR(whole.loss, parts.loss, 1e-6 * parts.loss);
      EXPECT_NEAR(whole.evaluated, parts.evaluated, 1e-6 * parts.evaluated);
      EXPECT_NEAR(parts.evaluated, parts.loss, 1e-6 * parts.loss);
      for (std::size_t i = 0; i < parts.gradients.size(); ++i) {
        EXPECT_LT(test::distance(whole.gradients[i], parts.gradients[i]), 1e-5) << whole.names[i];
      }
    }
  }
}

// The logits of some tokens, in any order and also twice, in more than one chunk.
TEST(HeadScores, AreTheLossesOfTheTokens) {
  ModelConfig config = test::small_model(false);
  config.layers = 1;
  const auto stream = cpu_device().make_stream();
  NoExchange exchange;
  Llama llama({.model = config,
               .precision = Precision::fp32,
               .micro_batch = sequences,
               .seq_len = seq_len,
               .forward_only = true},
              *stream, exchange, nullptr);
  LocalState state(llama.parameters());
  std::vector<std::int32_t> tokens, targets, predicted_from, asked;
  for (std::uint64_t i = 0; i < tokens_count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random_bits({.seed = 3, .stream = 0}, i) % 48));
    targets.push_back(static_cast<std::int32_t>(random_bits({.seed = 3, .stream = 1}, i) % 48));
  }
  for (std::int32_t i = tokens_count; i-- > 0;) predicted_from.push_back(i);
  predicted_from.push_back(5);
  for (const std::int32_t i : predicted_from) asked.push_back(targets[static_cast<std::size_t>(i)]);
  const auto n = static_cast<std::int64_t>(predicted_from.size());
  ASSERT_LT(llama.scored_rows(n), n);
  std::vector<float> stats(static_cast<std::size_t>(numbers_of_stats * n));
  llama.score(
      {.tokens = tokens.data(),
       .scored = {.predicted_from = predicted_from.data(), .targets = asked.data(), .n = n, .stats = stats.data()}},
      state);
  const auto scores = likelihoods(stats.data(), n, llama.scored_rows(n), 1);
  double sum = 0;
  for (std::int64_t i = 0; i < tokens_count; ++i) sum -= scores[static_cast<std::size_t>(i)].log_probability;
  float loss = 0, of_five = 0;
  llama.evaluate({tokens.data(), targets.data(), 1.0f, &loss}, state);
  EXPECT_NEAR(sum, double{loss}, 1e-6 * sum);
  std::vector<std::int32_t> one(targets.size(), -1);
  one[5] = targets[5];
  llama.evaluate({tokens.data(), one.data(), 1.0f, &of_five}, state);
  EXPECT_NEAR(-scores.back().log_probability, double{of_five}, 1e-5);
  EXPECT_EQ(scores.back().log_probability, scores[static_cast<std::size_t>(tokens_count - 6)].log_probability);
}

}  // namespace
}  // namespace octet
