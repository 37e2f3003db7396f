// Recomputed activations against kept ones: the same bits, fewer bytes, and no more work than what is missing.
#include "src/model/recompute.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "src/model/step_costs.h"
#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::LocalModel;

constexpr Precision all_precisions[] = {Precision::fp32, Precision::bf16, Precision::float8};

std::string text(const RecomputeConfig& c) {
  return fmt::format("{} {} [{}] every {}", c.mode, c.preset, c.keep.empty() ? "" : c.keep.front(), c.every);
}

RecomputeConfig selective(RecomputePreset preset, std::int64_t every = 1) {
  return {.mode = RecomputeMode::selective, .preset = preset, .keep = {}, .every = every};
}

/// Full, the presets, each activation kept alone and each missing alone, and every second block.
std::vector<RecomputeConfig> all_ways() {
  std::vector<RecomputeConfig> ways = {
      {.mode = RecomputeMode::full}, {.mode = RecomputeMode::full, .every = 2}, selective(RecomputePreset::ffn, 2)};
  for (const auto preset : {RecomputePreset::elementwise, RecomputePreset::ffn, RecomputePreset::linears}) {
    ways.push_back(selective(preset));
  }
  for (const std::string_view name : names_of(Activation{})) {
    ways.push_back({.mode = RecomputeMode::selective, .keep = {std::string(name)}});
    std::vector<std::string> others;
    for (const std::string_view other : names_of(Activation{})) {
      if (other != name) others.emplace_back(other);
    }
    ways.push_back({.mode = RecomputeMode::selective, .keep = others});
  }
  return ways;
}

/// (unit, linear) of the recomputed GEMMs, in order.
std::vector<std::string> recomputed(const GemmTrace& trace) {
  std::vector<std::string> names;
  for (const auto& r : trace.records()) {
    if (r.recomputed) names.push_back(r.unit + " " + r.linear);
  }
  return names;
}

TEST(Recompute, HasTheSameBits) {
  Float8Config mixed;
  mixed.bf16_linears = {"attention.wv", "w2"};
  for (const Precision precision : all_precisions) {
    for (const Float8Config& float8 : {Float8Config{}, mixed}) {
      if (precision != Precision::float8 && !float8.bf16_linears.empty()) continue;
      LocalModel kept(precision, false, float8);
      const double loss = kept.forward_backward(), evaluated = kept.evaluate();
      for (const RecomputeConfig& way : all_ways()) {
        SCOPED_TRACE(fmt::format("{} {}", name_of(precision), text(way)));
        LocalModel model(precision, false, float8, way);
        EXPECT_EQ(model.forward_backward(), loss);
        EXPECT_EQ(model.evaluate(), evaluated);
        EXPECT_EQ(model.forward_backward(), loss);  // in memory that the evaluation has used
        EXPECT_TRUE(model.state.pass_done());
        for (std::size_t i = 0; i < kept.state.gradients.size(); ++i) {
          EXPECT_TRUE(test::same_bits(model.state.gradients[i], kept.state.gradients[i]))
              << kept.llama.parameters().parameters[i].name;
        }
      }
    }
  }
}

TEST(Recompute, PlansWhatAPassUses) {
  for (const Precision precision : all_precisions) {
    for (const RecomputeConfig& way : all_ways()) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(precision), text(way)));
      LocalModel model(precision, true, {}, way);
      model.forward_backward();
      model.evaluate();
      const Llama::MemoryNeeds planned = Llama::plan(model.settings, *model.stream), used = model.llama.used();
      EXPECT_EQ(planned.activations, used.activations);
      EXPECT_EQ(planned.recomputed, used.recomputed);
      EXPECT_EQ(planned.scratch, used.scratch);
    }
  }
}

TEST(Recompute, RunsTheGemmsThatAreMissingAndMarksThem) {
  const std::map<RecomputePreset, std::vector<std::string>> expected = {
      {RecomputePreset::elementwise, {}},
      {RecomputePreset::ffn, {"feed_forward.w1", "feed_forward.w3"}},
      {RecomputePreset::linears,
       {"attention.wq", "attention.wk", "attention.wv", "attention.wo", "feed_forward.w1", "feed_forward.w3"}}};
  for (const Precision precision : all_precisions) {
    LocalModel kept(precision);
    kept.forward_backward();
    EXPECT_EQ(recomputed(kept.gemms), std::vector<std::string>());
    for (const auto& [preset, linears] : expected) {
      LocalModel model(precision, false, {}, selective(preset));
      model.forward_backward();
      std::vector<std::string> names;
      for (const char* unit : {"block.1", "block.0"}) {  // block 2, the last, is not made again
        for (const std::string& linear : linears) names.push_back(fmt::format("{} {}", unit, linear));
      }
      EXPECT_EQ(recomputed(model.gemms), names) << name_of(preset);
      EXPECT_EQ(model.gemms.records().size(), kept.gemms.records().size() + names.size());
    }
  }
}

TEST(Recompute, EveryNthBlockOnly) {
  LocalModel model(Precision::bf16, false, {}, {.mode = RecomputeMode::full, .every = 2});
  model.forward_backward();
  EXPECT_EQ(recomputed(model.gemms), std::vector<std::string>());  // of 3 blocks the second alone, whose bits are there
  const RecomputePolicy policy{.kept = {}, .every = 3, .layers = 10};
  std::set<std::int64_t> applies, again;
  for (std::int64_t layer = 0; layer < policy.layers; ++layer) {
    if (policy.applies(layer)) applies.insert(layer);
    if (policy.again(layer)) again.insert(layer);
  }
  EXPECT_EQ(applies, (std::set<std::int64_t>{2, 5, 8}));
  EXPECT_EQ(again, (std::set<std::int64_t>{2, 5}));
  EXPECT_EQ(policy.blocks_again(), 2);
}

/// The GEMMs of the trace; attention, which is not in it, is 4 · q_dim FLOPs a token and place of the sequence.
TEST(Recompute, ExtraFlopsAreThoseOfTheTrace) {
  for (const RecomputeConfig& way : all_ways()) {
    LocalModel model(Precision::bf16, false, {}, way);
    model.forward_backward();
    double flops = 0;
    for (const auto& r : model.gemms.records()) flops += r.recomputed ? 2.0 * static_cast<double>(r.m * r.n * r.k) : 0;
    const ModelConfig& m = model.settings.model;
    const RecomputePolicy policy = RecomputePolicy::of(way, m.layers);
    if (!policy.kept.has(Activation::attention_output)) {
      flops +=
          static_cast<double>(policy.blocks_again() * 4 * m.q_dim() * model.settings.seq_len * model.tokens_count());
    }
    EXPECT_EQ(step_flops(model.settings, *model.stream).recomputed, flops / static_cast<double>(model.tokens_count()))
        << text(way);
  }
}

/// A value that is not finite is counted where it arises, once.
TEST(Recompute, CountsNothingTwice) {
  const auto findings = [](const RecomputeConfig& way) {
    LocalModel model(Precision::float8, false, {}, way);
    model.state.masters[model.state.index("layers.0.attention_norm.weight")][3] =
        std::numeric_limits<float>::infinity();
    model.forward_backward();
    std::map<std::string, std::int64_t> counts;
    for (const auto& f : model.llama.checks().read(*model.stream)) counts[f.unit + " " + f.tensor] = f.count;
    return counts;
  };
  const auto kept = findings({});
  EXPECT_TRUE(kept.contains("block.0 attention input"));
  EXPECT_TRUE(kept.contains("block.1 ffn product"));
  for (const RecomputeConfig& way : all_ways()) EXPECT_EQ(findings(way), kept) << text(way);
}

/// Scales of casts come from forward, so none is computed for a second time: output gradients and forward inputs alone.
std::int64_t scales_computed = 0;  // kernels are plain functions

TEST(Recompute, ComputesNoScales) {
  KernelTable kernels = cpu_kernels();
  kernels.cast_to_float8 = [](Stream& stream, const CastToFloat8& args) {
    scales_computed += args.amax == nullptr ? 0 : 1;
    cpu_kernels().cast_to_float8(stream, args);
  };
  const auto count = [&](const RecomputeConfig& way) {
    LocalModel like(Precision::float8, false, {}, way);
    Llama llama(like.settings, *like.stream, like.exchange, nullptr, Llama::plan(like.settings, *like.stream), kernels);
    float loss = 0;
    scales_computed = 0;
    llama.forward_backward({like.tokens.data(), like.targets.data(), 1.0f, &loss}, like.state, like.state);
    return scales_computed;
  };
  const std::int64_t kept = count({});
  EXPECT_GT(kept, 0);
  EXPECT_EQ(count({.mode = RecomputeMode::full}), kept);
  EXPECT_EQ(count(selective(RecomputePreset::elementwise)), kept);
}

TEST(Recompute, EachPresetKeepsLessThanTheOneBefore) {
  for (const Precision precision : all_precisions) {
    LocalModel model(precision);
    const auto bytes = [&](const RecomputeConfig& way) {
      return recompute_cost(model.settings, way, *model.stream).activations;
    };
    EXPECT_LT(bytes(selective(RecomputePreset::elementwise)), bytes({}));
    EXPECT_LT(bytes(selective(RecomputePreset::ffn)), bytes(selective(RecomputePreset::elementwise)));
    EXPECT_LT(bytes(selective(RecomputePreset::linears)), bytes(selective(RecomputePreset::ffn)));
    EXPECT_LT(bytes({.mode = RecomputeMode::full}), bytes(selective(RecomputePreset::linears)));
    model.settings.model.layers = 8;
    EXPECT_LT(bytes({.mode = RecomputeMode::full, .every = 2}), bytes({}));
    EXPECT_LT(bytes({.mode = RecomputeMode::full}), bytes({.mode = RecomputeMode::full, .every = 2}));
  }
}

TEST(Recompute, FullKeepsOneInputABlock) {
  LocalModel model(Precision::bf16);
  const auto bytes = [&](std::int64_t layers) {
    model.settings.model.layers = layers;
    return recompute_cost(model.settings, {.mode = RecomputeMode::full}, *model.stream).activations;
  };
  EXPECT_EQ(bytes(9) - bytes(8), model.tokens_count() * model.settings.model.dim * 2);
}

TEST(RecomputeConfig, SelectiveNeedsAPresetOrNames) {
  EXPECT_THROW(RecomputePolicy::of(selective(RecomputePreset::none), 4), Error);
  EXPECT_THROW(RecomputePolicy::of({.mode = RecomputeMode::selective, .keep = {"qkv"}}, 4), Error);
}

TEST(RecomputeTable, NamesTheChoice) {
  LocalModel model(Precision::float8, false, {}, selective(RecomputePreset::ffn));
  const std::string table = recompute_table(model.settings, *model.stream);
  EXPECT_NE(table.find("  none\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  full\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  selective ffn (chosen)\n"), std::string::npos) << table;
  model.settings.recompute = {.mode = RecomputeMode::full};
  EXPECT_NE(recompute_table(model.settings, *model.stream).find("full (chosen)"), std::string::npos);
}

/// The rows that docs/numerics.md has of an 8B model at 8K.
TEST(Recompute, TableOfThePage) {
  std::ifstream file(std::string(OCTET_SOURCE_DIR) + "/docs/numerics.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  ModelConfig m{
      .name = "8b", .dim = 4096, .layers = 32, .heads = 32, .kv_heads = 8, .ffn_dim = 14336, .vocab_size = 128256};
  m.finish();
  const auto stream = cpu_device().make_stream();
  const auto cost = [&](Precision precision, const RecomputeConfig& way) {
    return recompute_cost({.model = m, .precision = precision, .seq_len = 8192}, way, *stream);
  };
  const std::vector<std::pair<std::string, RecomputeConfig>> ways = {
      {"none", {}},
      {"selective, elementwise", selective(RecomputePreset::elementwise)},
      {"selective, ffn", selective(RecomputePreset::ffn)},
      {"selective, linears", selective(RecomputePreset::linears)},
      {"full", {.mode = RecomputeMode::full}},
      {"full, every 2", {.mode = RecomputeMode::full, .every = 2}}};
  for (const auto& [name, way] : ways) {
    const RecomputeCost bf16 = cost(Precision::bf16, way), float8 = cost(Precision::float8, way);
    EXPECT_EQ(bf16.extra_flops, float8.extra_flops);
    const std::string row =
        fmt::format("| {} | {:.2f} | {:.2f} | {:.1f} % |\n", name, static_cast<double>(bf16.activations) / 0x1p30,
                    static_cast<double>(float8.activations) / 0x1p30, 100 * bf16.extra_flops);
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace octet
