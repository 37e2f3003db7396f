// A whole pass with kernels that read both operands of an fp8 GEMM along k, against the same pass without copies.
#include "tests/support/k_major.h"

#include <gtest/gtest.h>

#include "tests/model/local_state.h"

namespace octet {
namespace {

std::int64_t transposes = 0;  // kernels are plain functions, so the count is global

KernelTable counting_kernels() {
  KernelTable kernels = test::k_major_kernels();
  kernels.transpose_float8 = [](Stream& stream, const TransposeFloat8& args) {
    ++transposes;
    cpu_kernels().transpose_float8(stream, args);
  };
  return kernels;
}

/// The model of `plain` with its weights, on those kernels.
struct Turned {
  explicit Turned(const test::LocalModel& like) : plain(like) { transposes = 0; }

  const test::LocalModel& plain;
  const KernelTable kernels = counting_kernels();
  std::unique_ptr<Stream> stream = cpu_device().make_stream();
  NoExchange exchange;
  const Llama::MemoryNeeds planned = Llama::plan(plain.settings, *stream, kernels);
  Llama llama{plain.settings, *stream, exchange, nullptr, planned, kernels};
  test::LocalState state{llama.parameters()};

  /// Of a recipe that remembers: from now on scales are known before the values.
  void finish_step() { llama.scaling().finish_step(*stream, kernels); }
  double forward_backward() {
    float sum = 0;
    const auto n = static_cast<float>(plain.tokens_count());
    llama.forward_backward({plain.tokens.data(), plain.targets.data(), 1.0f / n, &sum}, state, state);
    return double{sum} / double{n};
  }
};

void expect_same_gradients(const Turned& turned, const RecomputeConfig& recompute) {
  for (std::size_t i = 0; i < turned.plain.state.gradients.size(); ++i) {
    EXPECT_TRUE(test::same_bits(turned.state.gradients[i], turned.plain.state.gradients[i]))
        << turned.plain.llama.parameters().parameters[i].name << ", recompute " << name_of(recompute.mode) << " "
        << name_of(recompute.preset) << ", keep " << recompute.keep.size();
  }
}

/// Inputs that are kept while GEMMs that read them run again are among them.
const std::vector<RecomputeConfig> recomputes{
    {},
    {.mode = RecomputeMode::full},
    {.mode = RecomputeMode::full, .every = 2},
    {.mode = RecomputeMode::selective, .preset = RecomputePreset::elementwise},
    {.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn},
    {.mode = RecomputeMode::selective, .preset = RecomputePreset::linears},
    {.mode = RecomputeMode::selective, .keep = {"attention_input", "ffn_input", "attention_cast", "ffn_product"}}};

TEST(KMajor, TheWholePassHasTheSameBits) {
  Float8Config mixed;
  mixed.bf16_linears = {"attention.wk", "feed_forward.w2"};
  for (const Float8Config& float8 : {Float8Config{}, mixed}) {
    for (const RecomputeConfig& recompute : recomputes) {
      test::LocalModel plain(Precision::float8, false, float8);
      const double loss = plain.forward_backward();
      plain.settings.recompute = recompute;
      Turned turned(plain);
      EXPECT_EQ(turned.forward_backward(), loss);
      expect_same_gradients(turned, recompute);
    }
  }
}

/// The second step, in which producers cast. What does not fit the first step's scales saturates, the same everywhere.
TEST(KMajor, WhatProducersCastHasTheSameBits) {
  Float8Config mixed{.recipe = "delayed"};
  mixed.bf16_linears = {"attention.wk", "feed_forward.w3"};
  for (const Float8Config& float8 : {Float8Config{.recipe = "delayed"}, mixed}) {
    for (const RecomputeConfig& recompute : recomputes) {
      test::LocalModel plain(Precision::float8, false, float8);
      plain.forward_backward();
      plain.llama.scaling().finish_step(*plain.stream, cpu_kernels());
      const double loss = plain.forward_backward();
      plain.settings.recompute = recompute;
      Turned turned(plain);
      turned.forward_backward();
      turned.finish_step();
      EXPECT_EQ(turned.forward_backward(), loss);
      expect_same_gradients(turned, recompute);
    }
  }
}

TEST(KMajor, MemoryIsPlannedAsUsed) {
  for (const char* recipe : {"tensorwise", "delayed"}) {
    for (const RecomputeConfig& recompute : recomputes) {
      test::LocalModel plain(Precision::float8, false, {.recipe = recipe}, recompute);
      Turned turned(plain);
      turned.forward_backward();
      turned.finish_step();
      turned.forward_backward();
      const Llama::MemoryNeeds used = turned.llama.used();
      EXPECT_EQ(turned.planned.scratch, used.scratch) << recipe;
      EXPECT_EQ(turned.planned.activations, used.activations) << recipe;
      EXPECT_EQ(turned.planned.recomputed, used.recomputed) << recipe;
    }
  }
}

/// A block wide enough to need the most scratch where w1 and w3 go backward.
TEST(KMajor, ThePlanCountsTheCopies) {
  test::LocalModel plain(Precision::float8);
  LlamaSettings wide = plain.settings;
  wide.model.dim = 512;
  wide.model.ffn_dim = 2048;
  wide.model.head_dim = 128;
  wide.seq_len = 512;
  const Llama::MemoryNeeds without = Llama::plan(wide, *plain.stream);
  const Llama::MemoryNeeds with = Llama::plan(wide, *plain.stream, test::k_major_kernels());
  const std::int64_t n = wide.micro_batch * wide.seq_len;
  EXPECT_GE(with.scratch - without.scratch, n * wide.model.ffn_dim);  // dyT of w1
  EXPECT_EQ(with.activations, without.activations);  // of an input, the transposed form in place of the other
}

/// Of seven weights a block; inputs and gradients are transposed by the pass that casts them.
TEST(KMajor, OnlyWeightsAreTransposedByThemselves) {
  test::LocalModel plain(Precision::float8);
  Turned turned(plain);
  turned.forward_backward();
  EXPECT_EQ(transposes, plain.settings.model.layers * 7);
}

/// What norms cast in their own pass is transposed after it: the inputs of q, k, v and of w1, w3, and the gradients of
/// wo and w2.
TEST(KMajor, NormsDoNotTranspose) {
  test::LocalModel plain(Precision::float8, false, {.recipe = "delayed"});
  Turned turned(plain);
  turned.forward_backward();
  turned.finish_step();
  transposes = 0;
  turned.forward_backward();
  EXPECT_EQ(transposes, plain.settings.model.layers * (7 + 4));
}

}  // namespace
}  // namespace octet
