// Rows of several documents are what each document is by itself.
#include <gtest/gtest.h>

#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::LocalModel;

const std::vector<std::int64_t> lengths = {5, 1, 10, 1, 1, 14};  // of two rows of 16

/// The model of those documents packed, in the order of `lengths`.
std::unique_ptr<LocalModel> packed(Precision precision, const RecomputeConfig& recompute = {},
                                   const Float8Config& float8 = {}) {
  auto model = std::make_unique<LocalModel>(precision, false, float8, recompute);
  for (const std::int64_t length : lengths) {
    const auto first = static_cast<std::int32_t>(model->document_begin.size()) % 16;
    model->document_begin.insert(model->document_begin.end(), static_cast<std::size_t>(length), first);
  }
  return model;
}

struct Result {
  double loss = 0;
  std::vector<std::vector<double>> gradients{};
};

/// The sum over the documents, each of them in a model of its own whose rows are as long as it.
Result apart(const LocalModel& whole) {
  Result sum;
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    LocalModel one(Precision::fp32, false, {}, {}, 1, length);
    one.state.masters = whole.state.masters;
    one.tokens.assign(whole.tokens.begin() + first, whole.tokens.begin() + first + length);
    one.targets.assign(whole.targets.begin() + first, whole.targets.begin() + first + length);
    const double weight = static_cast<double>(length) / static_cast<double>(whole.tokens.size());
    sum.loss += weight * one.forward_backward();
    sum.gradients.resize(one.state.gradients.size());
    for (std::size_t i = 0; i < sum.gradients.size(); ++i) {
      sum.gradients[i].resize(one.state.gradients[i].size());
      for (std::size_t e = 0; e < sum.gradients[i].size(); ++e) {
        sum.gradients[i][e] += weight * double{one.state.gradients[i][e]};
      }
    }
    first += length;
  }
  return sum;
}

TEST(Documents, OfARowHaveTheLossAndGradientsThatTheyHaveApart) {
  const auto model = packed(Precision::fp32);
  const double loss = model->forward_backward();
  const Result expected = apart(*model);
  EXPECT_NEAR(loss, expected.loss, 1e-6);
  EXPECT_NEAR(model->evaluate(), expected.loss, 1e-6);
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    const std::vector<float> want(expected.gradients[i].begin(), expected.gradients[i].end());
    EXPECT_LT(test::distance(model->state.gradients[i], want), 1e-5) << model->llama.parameters().parameters[i].name;
  }
}

TEST(Documents, AreWhatChangesTheLoss) {
  const auto model = packed(Precision::fp32);
  const double within = model->evaluate();
  model->document_begin.clear();
  EXPECT_GT(std::abs(model->evaluate() - within), 1e-3);
}

TEST(Documents, OnlyOneARowHaveTheBitsOfNone) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::float8}) {
    LocalModel with(precision), without(precision);
    with.document_begin.assign(with.tokens.size(), 0);
    EXPECT_EQ(with.forward_backward(), without.forward_backward());
    EXPECT_EQ(with.state.gradients, without.state.gradients) << name_of(precision);
  }
}

/// In every mode of recompute and every recipe whose GEMMs this model's sizes suit.
TEST(Documents, AreTheSameWhenRecomputed) {
  const auto selective = [](RecomputePreset preset) {
    return RecomputeConfig{.mode = RecomputeMode::selective, .preset = preset};
  };
  const std::vector<RecomputeConfig> ways = {
      {.mode = RecomputeMode::full},           {.mode = RecomputeMode::full, .every = 2},
      selective(RecomputePreset::elementwise), selective(RecomputePreset::ffn),
      selective(RecomputePreset::linears),     {.mode = RecomputeMode::selective, .keep = {"attention_output"}}};
  std::vector<std::pair<Precision, std::string>> kinds = {{Precision::fp32, "tensorwise"},
                                                          {Precision::bf16, "tensorwise"}};
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed"}) {
    kinds.emplace_back(Precision::float8, recipe);
  }
  for (const auto& [precision, recipe] : kinds) {
    Float8Config float8;
    float8.recipe = recipe;
    const auto kept = packed(precision, {}, float8);
    const double loss = kept->forward_backward();
    for (const RecomputeConfig& way : ways) {
      SCOPED_TRACE(fmt::format("{} {}, {} {} every {}", precision, recipe, way.mode, way.preset, way.every));
      const auto again = packed(precision, way, float8);
      EXPECT_EQ(again->forward_backward(), loss);
      EXPECT_EQ(again->state.gradients, kept->state.gradients);
    }
  }
}

/// Recipe blockwise, whose extents are multiples of 128.
LlamaSettings blockwise(std::int64_t micro_batch, std::int64_t seq_len, const RecomputeConfig& recompute = {}) {
  LlamaSettings settings{.model = {.name = "blocks",
                                   .dim = 256,
                                   .layers = 2,
                                   .heads = 4,
                                   .kv_heads = 2,
                                   .head_dim = 64,
                                   .ffn_dim = 256,
                                   .vocab_size = 48},
                         .precision = Precision::float8,
                         .micro_batch = micro_batch,
                         .seq_len = seq_len,
                         .recompute = recompute,
                         .documents = true};
  settings.float8.recipe = "blockwise";
  settings.model.finish();
  return settings;
}

/// Blocks do not cross the borders of documents of 128 tokens, nor do tiles of attention.
TEST(Documents, OfOneRowHaveTheBitsOfRowsWithBlockwise) {
  LocalModel one(blockwise(1, 256)), apart(blockwise(2, 128));
  one.document_begin.assign(128, 0);
  one.document_begin.resize(256, 128);
  EXPECT_EQ(one.forward_backward(), apart.forward_backward());
  EXPECT_EQ(one.state.gradients, apart.state.gradients);
  one.document_begin.clear();
  EXPECT_NE(one.forward_backward(), apart.forward_backward());
}

TEST(Documents, AreTheSameWhenRecomputedWithBlockwise) {
  const auto run = [](const RecomputeConfig& recompute) {
    auto model = std::make_unique<LocalModel>(blockwise(1, 256, recompute));
    for (const auto& [first, length] : {std::pair{0, 50}, {50, 1}, {51, 77}, {128, 100}, {228, 28}}) {
      model->document_begin.insert(model->document_begin.end(), static_cast<std::size_t>(length), first);
    }
    const double loss = model->forward_backward();
    return std::pair(loss, model->state.gradients);
  };
  const auto kept = run({});
  EXPECT_EQ(run({.mode = RecomputeMode::full}), kept);
  EXPECT_EQ(run({.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn}), kept);
}

}  // namespace
}  // namespace octet
