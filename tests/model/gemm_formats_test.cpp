#include "src/model/gemm_formats.h"

#include <gtest/gtest.h>

#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::small_model;

TEST(EqualBlocks, ThoseWithTheSameRecipesStandTogether) {
  ModelConfig m = small_model();
  m.layers = 9;
  const auto texts = [&](const Float8Config& float8) {
    std::vector<std::string> all;
    for (const EqualBlocks& blocks : equal_blocks(m, Precision::float8, float8)) all.push_back(blocks.text());
    return all;
  };
  EXPECT_EQ(texts({}), (std::vector<std::string>{"blocks 0 to 8"}));
  EXPECT_EQ(texts({.bf16_linears = {"layers.4.attention.wq"}, .bf16_first_layers = 2, .bf16_last_layers = 1}),
            (std::vector<std::string>{"blocks 0 to 1, 8", "blocks 2 to 3, 5 to 7", "block 4"}));
}

TEST(GemmFormatTable, SaysWhichLinearRunsInWhichFormat) {
  Float8Config float8;
  float8.bf16_linears = {"attention.wk"};
  EXPECT_EQ(gemm_format_table(small_model(), Precision::float8, float8),
            "  linear             weight           output        grad_input    grad_weight  \n"
            "  attention.wq       [32, 32]         e4m3 x e4m3   e5m2 x e4m3   e5m2 x e4m3  \n"
            "  attention.wk       [16, 32]         bf16 x bf16   bf16 x bf16   bf16 x bf16  \n"
            "  attention.wv       [16, 32]         e4m3 x e4m3   e5m2 x e4m3   e5m2 x e4m3  \n"
            "  attention.wo       [32, 32]         e4m3 x e4m3   e5m2 x e4m3   e5m2 x e4m3  \n"
            "  feed_forward.w1    [64, 32]         e4m3 x e4m3   e5m2 x e4m3   e5m2 x e4m3  \n"
            "  feed_forward.w3    [64, 32]         e4m3 x e4m3   e5m2 x e4m3   e5m2 x e4m3  \n"
            "  feed_forward.w2    [32, 64]         e4m3 x e4m3   e5m2 x e4m3   e5m2 x e4m3  \n"
            "  output             [48, 32]         bf16 x bf16   bf16 x bf16   bf16 x bf16  \n");
  const std::string ends = gemm_format_table(small_model(), Precision::float8, {.bf16_last_layers = 1});
  const auto eight = ends.find("  blocks 0 to 1:\n  attention.wq       [32, 32]         e4m3 x e4m3 ");
  const auto half = ends.find("  block 2:\n  attention.wq       [32, 32]         bf16 x bf16 ");
  EXPECT_LT(eight, half) << ends;
  EXPECT_LT(half, ends.find("  all:\n  output ")) << ends;
  const std::string fp32 = gemm_format_table(small_model(true), Precision::fp32, {});
  EXPECT_NE(fp32.find("  output (tied)      [48, 32]         f32 x f32"), std::string::npos) << fp32;
  EXPECT_EQ(fp32.find("e4m3"), std::string::npos);
  EXPECT_EQ(fp32.find("bf16"), std::string::npos);
}

}  // namespace
}  // namespace octet
