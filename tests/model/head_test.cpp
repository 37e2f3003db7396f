// The head's loop over chunks of tokens, on micro-batches of more than one chunk.
#include <gtest/gtest.h>

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
Result run(Precision precision, bool tied, std::int64_t micro_batch) {
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
      const Result whole = run(precision, tied, sequences), parts = run(precision, tied, 1);
      EXPECT_NEAR(whole.loss, parts.loss, 1e-6 * parts.loss);
      EXPECT_NEAR(whole.evaluated, parts.evaluated, 1e-6 * parts.evaluated);
      EXPECT_NEAR(parts.evaluated, parts.loss, 1e-6 * parts.loss);
      for (std::size_t i = 0; i < parts.gradients.size(); ++i) {
        EXPECT_LT(test::distance(whole.gradients[i], parts.gradients[i]), 1e-5) << whole.names[i];
      }
    }
  }
}

}  // namespace
}  // namespace octet
