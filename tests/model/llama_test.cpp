// One forward and backward of a small model: which GEMMs run, how much memory they use, where NaN is found.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::LocalModel;

constexpr Precision all_precisions[] = {Precision::fp32, Precision::bf16, Precision::float8};

using Gemm3 = std::tuple<std::string, std::string, std::string>;  ///< linear, gemm, "a x b > c"

std::string formats(DType a, DType b, DType c) {
  return fmt::format("{} x {} > {}", name_of(a), name_of(b), name_of(c));
}

/// How often each GEMM of a unit ran.
std::map<Gemm3, int> gemms_of(const GemmTrace& trace, const std::string& unit) {
  std::map<Gemm3, int> count;
  for (const auto& r : trace.records()) {
    if (r.unit == unit) ++count[{r.linear, r.gemm, formats(r.a, r.b, r.c)}];
  }
  return count;
}

/// The 21 of a block.
std::map<Gemm3, int> expected_gemms(Precision precision, const std::string& in_bf16 = "none") {
  const DType storage = precision == Precision::fp32 ? DType::f32 : DType::bf16;
  std::map<Gemm3, int> all;
  for (const char* l : {"attention.wq", "attention.wk", "attention.wv", "attention.wo", "feed_forward.w1",
                        "feed_forward.w3", "feed_forward.w2"}) {
    const bool float8 = precision == Precision::float8 && l != in_bf16;
    const DType x = float8 ? DType::e4m3 : storage, dy = float8 ? DType::e5m2 : storage;
    all[{l, "output", formats(x, x, storage)}] = 1;
    all[{l, "grad_input", formats(dy, x, storage)}] = 1;
    all[{l, "grad_weight", formats(dy, x, DType::f32)}] = 1;
  }
  return all;
}

TEST(Gemms, SevenLinearsOfThreeInEveryBlockAndNothingElse) {
  for (const Precision precision : all_precisions) {
    LocalModel model(precision);
    model.forward_backward();
    for (const char* block : {"block.0", "block.1", "block.2"}) {
      EXPECT_EQ(gemms_of(model.gemms, block), expected_gemms(precision)) << name_of(precision) << " " << block;
    }
    const DType t = storage_dtype(precision);
    EXPECT_EQ(gemms_of(model.gemms, "head"),
              (std::map<Gemm3, int>{{{"output", "output", formats(t, t, DType::f32)}, 1},
                                    {{"output", "grad_input", formats(t, t, t)}, 1},
                                    {{"output", "grad_weight", formats(t, t, DType::f32)}, 1}}));
    EXPECT_EQ(model.gemms.records().size(), 3 * 21 + 3);
    EXPECT_TRUE(model.state.pass_done());
  }
}

TEST(Gemms, ExceptionsRunInBf16AmongFloat8) {
  Float8Config float8;
  float8.bf16_linears = {"attention.wk"};
  LocalModel model(Precision::float8, false, float8);
  model.forward_backward();
  EXPECT_EQ(gemms_of(model.gemms, "block.1"), expected_gemms(Precision::float8, "attention.wk"));
}

TEST(Gemms, FastAccumulationOnlyForwardInFloat8) {
  for (const Precision precision : all_precisions) {
    LocalModel model(precision);
    model.forward_backward();
    for (const auto& r : model.gemms.records()) {
      EXPECT_EQ(r.fast_accumulate, precision == Precision::float8 && r.gemm == "output" && r.linear != "output");
    }
  }
}

/// Every linear of a block, and none else, sums as the options say; the head does not.
TEST(Gemms, SumsOfTheOptionInEveryFloat8Linear) {
  Float8Config float8;
  float8.bf16_linears = {"attention.wk"};
  using enum Float8Accumulate;
  struct Row {
    Float8Accumulate accumulate;
    FastAccumulate fast;
    bool emulates, fast_output, fast_gradients;
  };
  std::map<Float8Accumulate, double> losses;
  for (const Row& row :
       {Row{fp32, FastAccumulate::forward, false, true, false}, Row{fp32, FastAccumulate::all, false, true, true},
        Row{hopper, FastAccumulate::all, true, true, true}, Row{hopper, FastAccumulate::forward, true, true, false},
        Row{hopper_fast, FastAccumulate::forward, true, true, true},
        Row{hopper_slow, FastAccumulate::forward, true, false, false}}) {
    float8.accumulate = row.accumulate;
    float8.fast_accumulate = row.fast;
    LocalModel model(Precision::float8, false, float8);
    losses[row.accumulate] = model.forward_backward();
    for (const auto& r : model.gemms.records()) {
      const bool in_float8 = r.unit != "head" && r.linear != "attention.wk";
      EXPECT_EQ(r.emulate_hopper, in_float8 && row.emulates) << r.linear;
      EXPECT_EQ(r.fast_accumulate, in_float8 && (r.gemm == "output" ? row.fast_output : row.fast_gradients));
    }
  }
  EXPECT_NE(losses[fp32], losses[hopper]);
  EXPECT_EQ(losses[hopper_fast], losses[hopper]);  // the forward pass is the same
}

TEST(Gemms, EvaluationRunsForwardAloneAndGivesTheSameLoss) {
  for (const Precision precision : all_precisions) {
    for (const bool tied : {false, true}) {
      LocalModel model(precision, tied);
      const double loss = model.forward_backward();
      model.gemms.clear();
      EXPECT_EQ(model.evaluate(), loss) << name_of(precision);
      EXPECT_EQ(model.gemms.records().size(), 3 * 7 + 1);
      EXPECT_TRUE(model.state.pass_done());
    }
  }
}

TEST(Plan, EqualsWhatAPassUses) {
  Float8Config mixed;
  mixed.bf16_linears = {"attention.wv", "w2"};
  Float8Config hopper;
  hopper.accumulate = Float8Accumulate::hopper;
  Float8Config ends;  // blocks of three kinds
  ends.bf16_first_layers = 1;
  ends.bf16_linears = {"layers.2.attention"};
  for (const Precision precision : all_precisions) {
    for (const Float8Config& float8 : {Float8Config{}, mixed, hopper, ends}) {
      LocalModel model(precision, true, float8);
      const double loss = model.forward_backward();
      EXPECT_EQ(model.evaluate(), loss);
      const Llama::MemoryNeeds planned = Llama::plan(model.settings, *model.stream), used = model.llama.used();
      EXPECT_GT(used.activations, 0);
      EXPECT_EQ(planned.activations, used.activations) << name_of(precision);
      EXPECT_EQ(planned.scratch, used.scratch) << name_of(precision);
    }
  }
}

TEST(Plan, Float8KeepsFewerBytesThanBf16) {
  const auto needs = [](Precision p) {
    LocalModel model(p);
    return Llama::plan(model.settings, *model.stream).activations;
  };
  EXPECT_LT(needs(Precision::bf16), needs(Precision::fp32));
  EXPECT_LT(needs(Precision::float8), needs(Precision::bf16));  // inputs of the linears in one byte
}

std::map<std::string, std::int64_t> findings(const LocalModel& model) {
  std::map<std::string, std::int64_t> found;
  for (const auto& f : model.llama.checks().read(*model.stream)) found[f.unit + ": " + f.tensor] = f.count;
  return found;
}

TEST(NonFinite, NothingIsFoundInAHealthyPass) {
  for (const Precision precision : all_precisions) {
    LocalModel model(precision);
    model.forward_backward();
    EXPECT_EQ(findings(model), (std::map<std::string, std::int64_t>{})) << name_of(precision);
  }
}

TEST(NonFinite, ANanWeightIsNamedWhereItFirstShows) {
  for (const Precision precision : all_precisions) {
    LocalModel model(precision);
    model.state.masters[model.state.index("layers.1.feed_forward.w1.weight")][5 * 32 + 3] = NAN;
    model.evaluate();
    const std::int64_t tokens = model.tokens_count();
    auto found = findings(model);
    // Row 5 of w1 makes one column of the product NaN; tensorwise scales spread it over all of them.
    EXPECT_EQ(found["block.1: ffn product"], tokens * (precision == Precision::float8 ? 64 : 1));
    EXPECT_EQ(found["block.2: attention input"], tokens * 32);
    EXPECT_EQ(found["head: input"], tokens * 32);
    for (const auto& [where, count] : found) {
      EXPECT_FALSE(where.starts_with("block.0")) << where;
      EXPECT_FALSE(where.starts_with("block.1") && !where.ends_with("ffn product")) << where;
    }
  }
}

TEST(NonFinite, BackwardNamesEveryGradientOnItsWay) {
  for (const Precision precision : all_precisions) {
    LocalModel model(precision);
    // A NaN in the query of one head reaches the gradients of everything before it.
    model.state.masters[model.state.index("layers.2.attention.wq.weight")][0] = NAN;
    model.forward_backward();
    auto found = findings(model);
    for (const char* tensor : {"gradient", "grad wo", "grad wq", "grad wk", "grad w1", "grad w3"}) {
      EXPECT_GT(found[fmt::format("block.0: {}", tensor)], 0) << name_of(precision) << " " << tensor;
    }
    EXPECT_EQ(found.count("block.1: ffn product"), 0);
    EXPECT_EQ(found.count("block.2: attention input"), 0);
    EXPECT_GT(found["block.2: ffn input"], 0);
    model.llama.checks().reset(*model.stream);
    EXPECT_TRUE(findings(model).empty());
  }
}

}  // namespace
}  // namespace octet
