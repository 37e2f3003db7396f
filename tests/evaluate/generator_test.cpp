// Text that grows token by token: against transformers (make_generated.py), whole passes, and between layouts.
#include "src/evaluate/generator.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "src/base/error.h"
#include "src/evaluate/sampling.h"
#include "tests/evaluate/evaluate_test.h"

namespace octet {
namespace {

struct Generated {
  std::vector<std::int32_t> prompt, tokens;
  std::vector<float> last_logits;
};

std::vector<Generated> read_generated(const std::string& name) {
  std::ifstream file(test::golden_folder + "/" + name + "/generated.json");
  std::vector<Generated> all;
  for (const auto& g : nlohmann::json::parse(file)) all.push_back({g["prompt"], g["tokens"], g["last_logits"]});
  return all;
}

/// A model for texts of at most so many tokens; passes of prompts are shorter than some prompts.
class GeneratingModel {
 public:
  struct Options {
    int tp = 1;
    Precision precision = Precision::fp32;
    std::string recipe = "tensorwise";
    std::int64_t pass = 8;
  };

  GeneratingModel(const std::string& name, std::int64_t rows, const Options& options)
      : control_(options.tp == 1 ? make_self_communicator(*stream_, "control")
                                 : make_mpi_communicator(*stream_, "control")),
        mesh_(control_->on_stream(*stream_, "world"), {.tp = options.tp}),
        source_(find_model(test::golden_folder + "/" + name, *control_)),
        model_({.model = source_.model,
                .precision = options.precision,
                .float8 = {.recipe = options.recipe},
                .micro_batch = 1,
                .seq_len = options.pass,
                .tp = {mesh_.tp().rank(), options.tp},
                .cache_rows = rows},
               mesh_, *stream_) {
    load_weights(source_, model_, *stream_, *control_);
  }

  Generator generator() { return {model_, mesh_, *stream_}; }

 private:
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_;
  Mesh mesh_;
  ModelSource source_;
  ForwardModel model_;
};

std::vector<std::int32_t> greedy(Generator generator, std::span<const std::int32_t> prompt, std::size_t tokens) {
  std::vector<std::int32_t> out{choose_token(generator.extend(prompt), {}, 0)};
  while (out.size() < tokens) out.push_back(choose_token(generator.extend({&out.back(), 1}), {}, 0));
  return out;
}

class GeneratedText : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cases, GeneratedText, testing::Values("odd", "tied", "scaled"));

TEST_P(GeneratedText, IsThatOfTransformers) {
  GeneratingModel model(GetParam(), 24, {});
  for (const Generated& golden : read_generated(GetParam())) {
    EXPECT_EQ(greedy(model.generator(), golden.prompt, golden.tokens.size()), golden.tokens);
    Generator generator = model.generator();
    std::vector<std::int32_t> all = golden.prompt;
    all.insert(all.end(), golden.tokens.begin(), golden.tokens.end() - 1);
    const auto logits = generator.extend(all);
    for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], golden.last_logits[i], 1e-4);
  }
}

/// However a text comes, by tokens or in passes of any length, its logits are those of one pass.
TEST_P(GeneratedText, HasTheLogitsOfWholePasses) {
  GeneratingModel by_parts(GetParam(), 24, {}), at_once(GetParam(), 24, {.pass = 24});
  std::vector<std::int32_t> text(23);
  std::iota(text.begin(), text.end(), 3);
  Generator steps = by_parts.generator(), some = by_parts.generator();
  std::size_t seen = 0;
  for (const std::size_t count : {5u, 1u, 1u, 11u, 2u, 3u}) {
    Generator whole = at_once.generator();
    const std::vector<float> want = [&] {
      const auto logits = whole.extend(std::span(text).first(seen + count));
      return std::vector<float>(logits.begin(), logits.end());
    }();
    const auto near = [&](std::span<const float> got) {
      double largest = 0, difference = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(want[i])));
        difference = std::max(difference, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
      }
      EXPECT_LT(difference, 1e-5 * std::max(largest, 1.0)) << seen << " and " << count;
    };
    near(some.extend(std::span(text).subspan(seen, count)));
    for (std::size_t i = 0; i + 1 < count; ++i) steps.extend(std::span(text).subspan(seen + i, 1));
    near(steps.extend(std::span(text).subspan(seen + count - 1, 1)));
    seen += count;
  }
}

TEST(GeneratedTextInParts, IsTheSame) {
  if (test::ranks() != 2) GTEST_SKIP() << "for 2 ranks";
  for (const char* name : {"tied", "scaled"}) {
    GeneratingModel model(name, 24, {.tp = 2});
    for (const Generated& golden : read_generated(name)) {
      EXPECT_EQ(greedy(model.generator(), golden.prompt, golden.tokens.size()), golden.tokens) << name;
    }
  }
}

/// The abs-maxes of casts are those of the text alone, whatever the pass is filled up with.
TEST(GeneratedTextInFloat8, HasTheLogitsOfItsPasses) {
  for (const char* recipe : {"tensorwise", "rowwise"}) {
    GeneratingModel short_passes("tied", 24, {.precision = Precision::float8, .recipe = recipe, .pass = 7}),
        long_passes("tied", 24, {.precision = Precision::float8, .recipe = recipe, .pass = 24});
    const std::vector<std::int32_t> text{4, 8, 15, 16, 23, 42, 7};
    Generator a = short_passes.generator(), b = long_passes.generator();
    const auto x = a.extend(text), y = b.extend(text);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5 * std::max(1.0f, std::abs(y[i]))) << recipe;
    const std::int32_t next = 11;
    EXPECT_TRUE(std::ranges::all_of(a.extend({&next, 1}), [](float l) { return std::isfinite(l); }));
  }
}

TEST(GeneratedTextLimits, AreErrors) {
  GeneratingModel model("tied", 10, {});
  Generator generator = model.generator();
  const std::vector<std::int32_t> eleven(11, 1), strange{1, 96}, below{-1};
  EXPECT_THROW(generator.extend(eleven), Error);
  EXPECT_THROW(generator.extend({}), Error);
  EXPECT_THROW(generator.extend(strange), Error);
  EXPECT_THROW(generator.extend(below), Error);
  EXPECT_EQ(generator.tokens(), 0);
  generator.extend(std::span(eleven).first(10));
  EXPECT_EQ(generator.tokens(), 10);
  EXPECT_THROW(generator.extend(std::span(eleven).first(1)), Error);
}

}  // namespace
}  // namespace octet
