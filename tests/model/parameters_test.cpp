#include "src/model/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "src/ops/recipes/recipe_list.h"
#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::small_model;

struct Expected {
  const char* name;
  int unit;
  Shape shape;
  bool linear;  ///< one of the seven that float8 is for
};

const std::vector<Expected> expected_parameters = {
    {"tok_embeddings.weight", 0, {48, 32}, false},          {"layers.0.attention_norm.weight", 1, {32}, false},
    {"layers.0.ffn_norm.weight", 1, {32}, false},           {"layers.0.attention.wq.weight", 1, {32, 32}, true},
    {"layers.0.attention.wk.weight", 1, {16, 32}, true},    {"layers.0.attention.wv.weight", 1, {16, 32}, true},
    {"layers.0.attention.wo.weight", 1, {32, 32}, true},    {"layers.0.feed_forward.w1.weight", 1, {64, 32}, true},
    {"layers.0.feed_forward.w3.weight", 1, {64, 32}, true}, {"layers.0.feed_forward.w2.weight", 1, {32, 64}, true},
};

TEST(Parameters, NamesOrderUnitsAndShapes) {
  const ParameterList list = llama_parameters(small_model(), Precision::bf16, {});
  EXPECT_EQ(list.units, (std::vector<std::string>{"embedding", "block.0", "block.1", "block.2", "head"}));
  ASSERT_EQ(list.parameters.size(), 1 + 3 * 9 + 2);
  std::int64_t total = 0;
  for (const ParameterSpec& p : list.parameters) total += p.shape.elements();
  EXPECT_EQ(total, small_model().parameters());
  for (std::size_t i = 0; i < expected_parameters.size(); ++i) {
    EXPECT_EQ(list.parameters[i].name, expected_parameters[i].name);
    EXPECT_EQ(list.parameters[i].unit, expected_parameters[i].unit);
    EXPECT_EQ(list.parameters[i].shape, expected_parameters[i].shape) << expected_parameters[i].name;
    EXPECT_EQ(list.parameters[i].one_gemm_gradient, expected_parameters[i].linear) << expected_parameters[i].name;
  }
  for (const std::size_t of_head : {28u, 29u}) EXPECT_FALSE(list.parameters[of_head].one_gemm_gradient);
  EXPECT_EQ(list.parameters[10].name, "layers.1.attention_norm.weight");
  EXPECT_EQ(list.parameters[27].name, "layers.2.feed_forward.w2.weight");
  EXPECT_EQ(list.parameters[28].name, "norm.weight");
  EXPECT_EQ(list.parameters[29].name, "output.weight");
  EXPECT_EQ(list.parameters[29].shape, (Shape{48, 32}));
  EXPECT_EQ(list.parameters[29].unit, head_unit(small_model()));
  EXPECT_EQ(list.range(2), (std::pair<std::size_t, std::size_t>{10, 19}));
}

/// Code finds a block's weights by position: the list has there what the position's name says.
TEST(Parameters, ABlocksWeightsStandWhereTheirNamesSay) {
  const auto weights = block_weights(small_model());
  EXPECT_EQ(weights[attention_norm_weight].name, "attention_norm");
  EXPECT_EQ(weights[ffn_norm_weight].name, "ffn_norm");
  const std::pair<BlockLinear, std::string_view> linears[] = {
      {wq, "attention.wq"},    {wk, "attention.wk"},    {wv, "attention.wv"},   {wo, "attention.wo"},
      {w1, "feed_forward.w1"}, {w3, "feed_forward.w3"}, {w2, "feed_forward.w2"}};
  EXPECT_EQ(std::size(linears), static_cast<std::size_t>(block_linears));
  for (const auto& [linear, name] : linears) {
    const BlockWeightSpec weight = block_weight(small_model(), linear);
    EXPECT_EQ(weight.name, name);
    EXPECT_EQ(weight.is_row_parallel(), linear == wo || linear == w2) << name;
    EXPECT_EQ(block_recipes(small_model(), Precision::bf16, {}, 0).at(linear).name, name);
  }
}

TEST(Parameters, ATiedModelHasNoOutputWeight) {
  const ParameterList list = llama_parameters(small_model(true), Precision::bf16, {});
  ASSERT_EQ(list.parameters.size(), 1 + 3 * 9 + 1);
  EXPECT_EQ(list.parameters.back().name, "norm.weight");
  EXPECT_DOUBLE_EQ(list.parameters[0].init_std, 1 / std::sqrt(32.0));  // as the head that it also is
  EXPECT_EQ(list.parameters[0].init_cutoff, 3.0);
}

TEST(Parameters, GatheredDtypeFollowsThePrecision) {
  const ParameterList f32 = llama_parameters(small_model(), Precision::fp32, {});
  const ParameterList half = llama_parameters(small_model(), Precision::bf16, {});
  const ParameterList fp8 = llama_parameters(small_model(), Precision::float8, {});
  for (std::size_t i = 0; i < f32.parameters.size(); ++i) {
    const bool linear = f32.parameters[i].name.find(".w") != std::string::npos && f32.parameters[i].shape.rank() == 2 &&
                        f32.parameters[i].name.starts_with("layers.");
    EXPECT_EQ(f32.parameters[i].gathered, DType::f32);
    EXPECT_EQ(half.parameters[i].gathered, DType::bf16);
    EXPECT_EQ(fp8.parameters[i].gathered, linear ? DType::e4m3 : DType::bf16) << f32.parameters[i].name;
    if (i < expected_parameters.size()) {
      EXPECT_EQ(linear, expected_parameters[i].linear);
    }
  }
}

TEST(Parameters, ListedLinearsStayInBf16) {
  Float8Config float8;
  float8.bf16_linears = {"attention.wk", "w2"};
  const ParameterList list = llama_parameters(small_model(), Precision::float8, float8);
  for (std::size_t i = 1; i < 28; ++i) {
    const std::string& name = list.parameters[i].name;
    const bool bf16 = name.find("norm") != std::string::npos || name.ends_with("attention.wk.weight") ||
                      name.ends_with("feed_forward.w2.weight");
    EXPECT_EQ(list.parameters[i].gathered, bf16 ? DType::bf16 : DType::e4m3) << name;
  }
}

/// The linears of all blocks that run in fp8, by name.
std::vector<std::string> in_float8(const ModelConfig& model, const Float8Config& float8) {
  std::vector<std::string> names;
  for (const ParameterSpec& p : llama_parameters(model, Precision::float8, float8).parameters) {
    if (p.gathered == DType::e4m3) names.push_back(p.name);
  }
  return names;
}

TEST(Filters, BlocksAtBothEndsStayInBf16) {
  ModelConfig m = small_model();
  m.layers = 12;
  Float8Config float8;
  float8.bf16_first_layers = 2;
  float8.bf16_last_layers = 1;
  float8.bf16_linears = {"layers.1", "layers.5.attention.wo"};  // 1, which is out already, 10 and 11
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    const BlockRecipes recipes = block_recipes(m, Precision::float8, float8, layer);
    for (std::size_t l = 0; l < recipes.size(); ++l) {
      EXPECT_EQ(recipes[l].float8(), layer >= 2 && layer < 10 && !(layer == 5 && l == wo)) << layer << " " << l;
    }
  }
  EXPECT_EQ(in_float8(m, float8).size(), 8 * 7 - 1);
  EXPECT_TRUE(in_float8(small_model(), {.bf16_first_layers = 2, .bf16_last_layers = 2}).empty());
}

/// Weights of Llama-3 8B: with tensorwise scales wk and wv, [1024, 4096], are the ones that torchao leaves alone.
TEST(Filters, SmallLinearsAreThoseOfTorchao) {
  ModelConfig m{.name = "8b", .dim = 4096, .layers = 1, .heads = 32, .kv_heads = 8, .ffn_dim = 14336, .vocab_size = 16};
  m.finish();
  const auto last_parts = [&] {
    std::string all;
    for (const std::string& name : in_float8(m, {.filter_small_kn = true})) {
      all += name.substr(name.find(".w") + 1, 2) + " ";
    }
    return all;
  };
  EXPECT_EQ(last_parts(), "wq wo w1 w3 w2 ");
  m.kv_heads = 16;  // [2048, 4096]
  EXPECT_EQ(last_parts(), "wq wk wv wo w1 w3 w2 ");
  // The sizes of the whole model count, whatever tensor parallelism leaves to a rank.
  m.kv_heads = 8;
  const ParameterList part = llama_parameters(m, Precision::float8, {.filter_small_kn = true}, {0, 8});
  EXPECT_EQ(part.parameters[3].shape, (Shape{512, 4096}));
  EXPECT_EQ(part.parameters[3].gathered, DType::e4m3);

  const RecipePtr tensorwise = float8_recipe({.recipe = "tensorwise"});
  EXPECT_TRUE(tensorwise->too_small(1024, 4096));
  EXPECT_FALSE(tensorwise->too_small(1025, 4096));
  EXPECT_FALSE(tensorwise->too_small(1024, 4097));
  EXPECT_THROW(float8_recipe({.recipe = "tensorwide"}), Error);
}

TEST(Parameters, InitialValuesAreTorchtitans) {
  const ParameterList list = llama_parameters(small_model(), Precision::bf16, {});
  const auto std_of = [&](const std::string& name) {
    for (const ParameterSpec& p : list.parameters) {
      if (p.name == name) return p.init_std;
    }
    return -1.0;
  };
  EXPECT_EQ(std_of("tok_embeddings.weight"), 1.0);
  EXPECT_EQ(std_of("layers.2.attention_norm.weight"), 0.0);  // ones
  EXPECT_EQ(std_of("norm.weight"), 0.0);
  EXPECT_DOUBLE_EQ(std_of("output.weight"), 1 / std::sqrt(32.0));
  EXPECT_EQ(list.parameters.back().init_cutoff, 3.0);
  for (int layer = 0; layer < 3; ++layer) {
    const std::string prefix = fmt::format("layers.{}.", layer);
    for (const char* l : {"attention.wq", "attention.wk", "attention.wv", "feed_forward.w1"}) {
      EXPECT_EQ(std_of(prefix + l + ".weight"), 0.02) << prefix << l;
    }
    for (const char* l : {"attention.wo", "feed_forward.w2", "feed_forward.w3"}) {
      EXPECT_DOUBLE_EQ(std_of(prefix + l + ".weight"), 0.02 / std::sqrt(2.0 * (layer + 1))) << prefix << l;
    }
  }
}

}  // namespace
}  // namespace octet
