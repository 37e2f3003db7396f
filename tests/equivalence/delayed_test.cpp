// Recipe delayed on whole models: what it records, which scales follow, and that nothing else records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"

namespace octet {
namespace {

class Delayed : public testing::Test {
 protected:
  static constexpr std::int64_t seq_len = 16;
  static constexpr double lr = 1e-2;

  static ModelConfig model() {
    ModelConfig m{
        .name = "delayed", .dim = 32, .layers = 2, .heads = 2, .kv_heads = 2, .ffn_dim = 64, .vocab_size = 64};
    m.finish();
    return m;
  }

  static std::vector<std::int32_t> ids(std::int64_t sequences, std::uint32_t stream, std::int64_t number) {
    return random_ids({.seed = 5, .stream = stream}, number * 4096, sequences * seq_len);
  }

  static Harness::Options options(const std::string& recipe) {
    Harness::Options o;
    o.precision = Precision::float8;
    o.float8.recipe = recipe;
    o.float8.delayed_history = 2;
    return o;
  }

  /// A copy of a tensor of the recipe's state.
  template <typename T>
  static std::vector<T> state(Harness& h, const std::string& name) {
    for (const Float8Scaling::State& s : h.sharded().scaling().state()) {
      if (s.name == name) return {s.tensor.as<T>(), s.tensor.as<T>() + s.tensor.elements()};
    }
    throw internal_error("tests", "no state {}", name);
  }

  static std::vector<float> newest_amaxes(Harness& h) {
    std::vector<float> all = state<float>(h, "float8/amax_history");
    all.resize(all.size() / 2);
    return all;
  }

  static double step(Harness& h, std::int64_t number, std::int64_t sequences) {
    const double loss = h.forward_backward(ids(sequences, 0, number), ids(sequences, 1, number));
    h.sharded().finish_step(number, lr);
    return loss;
  }
};

TEST_F(Delayed, TheFirstStepIsTheDynamicOne) {
  Harness dynamic(model(), seq_len, options("tensorwise")), delayed(model(), seq_len, options("delayed"));
  const std::int64_t sequences = 2 * dynamic.mesh().dp().size();
  dynamic.sharded().initialize(3);
  delayed.sharded().initialize(3);
  EXPECT_EQ(step(delayed, 1, sequences), step(dynamic, 1, sequences));
  EXPECT_EQ(*delayed.sharded().norm().norm(), *dynamic.sharded().norm().norm());
  const double second = step(delayed, 2, sequences), expected = step(dynamic, 2, sequences);
  EXPECT_NE(second, expected);
  EXPECT_NEAR(second, expected, 1e-2 * expected);
  // It can begin again.
  delayed.sharded().initialize(3);
  dynamic.sharded().initialize(3);
  EXPECT_EQ(step(delayed, 1, sequences), step(dynamic, 1, sequences));
}

/// Weights are what can be looked at from outside: their abs-max in a step is that of the weights it computes with.
TEST_F(Delayed, WeightsTakeTheScaleOfTheStepsBefore) {
  for (const AutoBool all_gather : {AutoBool::yes, AutoBool::no}) {
    Harness::Options o = options("delayed");
    o.float8.all_gather = all_gather;
    Harness h(model(), seq_len, o);
    h.sharded().initialize(3);
    const ParameterList& list = h.sharded().parameters();
    std::vector<std::vector<float>> history(list.parameters.size());
    for (std::int64_t number = 1; number <= 4; ++number) {
      for (std::size_t i = 0; i < list.parameters.size(); ++i) {
        float amax = 0;
        for (const float w : h.whole(h.sharded().master(), list.parameters[i].name)) amax = std::max(amax, std::abs(w));
        history[i].push_back(amax);
      }
      step(h, number, 2 * h.mesh().dp().size());
      std::size_t compared = 0;
      for (std::size_t i = 0; i < list.parameters.size(); ++i) {
        if (h.sharded().scales().scale(i) == nullptr) continue;
        const auto last = history[i].end();
        const float largest = *std::max_element(number == 1 ? last - 1 : last - 2, last);
        EXPECT_EQ(*h.sharded().scales().scale(i), 448.0f / largest) << list.parameters[i].name << ", step " << number;
        EXPECT_EQ(*h.sharded().scales().inverse(i), 1.0f / (448.0f / largest));
        ++compared;
      }
      EXPECT_EQ(compared, 14u);
    }
  }
}

/// Two micro-batches beside each alone. A batch half as large doubles the gradients, which is exact.
TEST_F(Delayed, AStepRecordsTheLargestOfItsMicroBatches) {
  const auto tokens = ids(2, 0, 1), targets = ids(2, 1, 1);
  const auto amaxes = [&](std::int64_t begin, std::int64_t end) {
    Harness h = Harness::alone(model(), seq_len, options("delayed"));
    h.sharded().initialize(3);
    h.forward_backward({tokens.begin() + begin, tokens.begin() + end},
                       {targets.begin() + begin, targets.begin() + end});
    h.sharded().finish_step(1, lr);
    return newest_amaxes(h);
  };
  const auto both = amaxes(0, 2 * seq_len), first = amaxes(0, seq_len), second = amaxes(seq_len, 2 * seq_len);
  ASSERT_EQ(both.size(), 2 * (4 + 7 + 7));
  bool first_wins = false, second_wins = false;
  for (std::size_t i = 0; i < both.size(); ++i) {
    const float larger = std::max(first[i], second[i]);
    EXPECT_EQ(both[i], i < 2 * (4 + 7) ? larger : larger / 2) << i;
    first_wins = first_wins || first[i] > second[i];
    second_wins = second_wins || first[i] < second[i];
  }
  EXPECT_TRUE(first_wins && second_wins);
}

/// All ranks have one history, which is that of one rank with all of the batch, up to what fp8 casts make of it.
TEST_F(Delayed, RanksAgree) {
  Harness one = Harness::alone(model(), seq_len, options("delayed"));
  Harness h(model(), seq_len, options("delayed"));
  const std::int64_t sequences = 12;
  if (sequences % h.mesh().dp().size() != 0) GTEST_SKIP() << "12 sequences cannot be cut into as many parts";
  one.sharded().initialize(3);
  h.sharded().initialize(3);
  for (std::int64_t number = 1; number <= 3; ++number) {
    const double expected = step(one, number, sequences);
    EXPECT_NEAR(step(h, number, sequences), expected, 1e-3 * expected);
  }
  const std::vector<float> mine = state<float>(h, "float8/amax_history"),
                           ones = state<float>(one, "float8/amax_history");
  std::vector<float> largest = mine;
  h.mesh().world().all_reduce(largest.data(), static_cast<std::int64_t>(largest.size()), DType::f32, ReduceOp::max);
  EXPECT_EQ(mine, largest);
  for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i], ones[i], 0.1f * ones[i]) << i;
  EXPECT_EQ(state<std::int32_t>(h, "float8/steps"), std::vector<std::int32_t>{3});
}

TEST_F(Delayed, EvaluationLeavesNoTrace) {
  Harness plain(model(), seq_len, options("delayed")), looking(model(), seq_len, options("delayed"));
  const std::int64_t sequences = 2 * plain.mesh().dp().size();
  std::vector<std::int32_t> loud(static_cast<std::size_t>(seq_len), 63);
  for (Harness* h : {&plain, &looking}) {
    h->sharded().initialize(3);
    for (const ParameterSpec& p : h->sharded().parameters().parameters) {
      if (p.name != "tok_embeddings.weight") continue;
      std::vector<float> table = h->whole(h->sharded().master(), p.name);
      for (std::size_t i = 63 * 32; i < table.size(); ++i) table[i] *= 1000;  // what evaluation sees is larger
      h->set_weight(p.name, table);
    }
    h->sharded().weights_changed();
    for (std::int64_t number = 1; number <= 3; ++number) {
      float loss = 0;
      if (h == &looking) h->sharded().evaluate({loud.data(), loud.data(), 1.0f, &loss});
      step(*h, number, sequences);
      if (h == &looking) h->sharded().evaluate({loud.data(), loud.data(), 1.0f, &loss});
    }
  }
  EXPECT_EQ(state<float>(plain, "float8/amax_history"), state<float>(looking, "float8/amax_history"));
  EXPECT_EQ(state<float>(plain, "float8/scale"), state<float>(looking, "float8/scale"));
}

}  // namespace
}  // namespace octet
