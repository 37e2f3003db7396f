#include "src/model/config.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "src/base/error.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

ModelConfig shape(std::int64_t dim, std::int64_t layers, std::int64_t heads, std::int64_t kv_heads,
                  std::int64_t ffn_dim, std::int64_t vocab_size) {
  ModelConfig m;
  m.name = "sample";
  m.dim = dim;
  m.layers = layers;
  m.heads = heads;
  m.kv_heads = kv_heads;
  m.ffn_dim = ffn_dim;
  m.vocab_size = vocab_size;
  return m;
}

std::string refusal(ModelConfig m) {
  return test::error_of([&] { m.finish(); });
}

TEST(ModelConfig, CountsByHand) {
  // Two blocks of q 8x8, k and v 4x8, o 8x8, three 16x8, two norms of 8; embedding and head 10x8; final norm.
  ModelConfig m = shape(8, 2, 2, 1, 16, 10);
  m.finish();
  EXPECT_EQ(m.head_dim, 4);
  EXPECT_EQ(m.parameters(), 2 * (64 + 32 + 32 + 64 + 3 * 128 + 16) + 2 * 80 + 8);
  EXPECT_EQ(m.embedding_parameters(), 80);
  m.tied_embedding = true;
  EXPECT_EQ(m.parameters(), 2 * (64 + 32 + 32 + 64 + 3 * 128 + 16) + 80 + 8);
}

TEST(ModelConfig, HeadDimMayDifferFromDimOverHeads) {
  ModelConfig m = shape(8, 1, 2, 1, 16, 10);
  m.head_dim = 6;
  m.finish();
  EXPECT_EQ(m.q_dim(), 12);
  EXPECT_EQ(m.parameters(), 8 * 12 + 2 * 8 * 6 + 12 * 8 + 3 * 128 + 16 + 160 + 8);
}

// IBM's fms-fsdp for the first two, torchtitan and Meta for the others. The files of configs/models are held to the
// same counts in tests/run_config/model_file_test.cpp.
TEST(ModelConfig, PublishedParameterCounts) {
  const std::vector<std::pair<ModelConfig, std::int64_t>> table = {
      {shape(2048, 24, 16, 8, 7168, 128256), 1884391424},       {shape(3072, 24, 24, 8, 8192, 128256), 3204074496},
      {shape(4096, 32, 32, 8, 14336, 128256), 8030261248},      {shape(8192, 80, 64, 8, 28672, 128256), 70553706496},
      {shape(16384, 126, 128, 8, 53248, 128256), 405853388800},
  };
  for (auto [m, parameters] : table) {
    m.finish();
    EXPECT_EQ(m.parameters(), parameters) << m.dim;
  }
}

TEST(ModelConfig, FlopsPerTokenAsTorchtitan) {
  // 57.914 GFLOP for Llama 3 8B at 8192 tokens: 6 (N - N_embedding) + 12 layers heads head_dim T.
  ModelConfig m = shape(4096, 32, 32, 8, 14336, 128256);
  m.finish();
  EXPECT_NEAR(m.flops_per_token(8192) * 1e-9, 57.914, 0.0005);
  EXPECT_EQ(m.flops_per_token(8192), 6.0 * (8030261248 - 128256.0 * 4096) + 12.0 * 32 * 4096 * 8192);
  const double untied = m.flops_per_token(8192);
  m.tied_embedding = true;  // the head computes all the same
  EXPECT_EQ(m.flops_per_token(8192), untied);
  m = shape(8, 3, 2, 1, 16, 10);
  m.head_dim = 6;  // scores and their products with the values are of heads x head_dim, not of dim
  m.finish();
  EXPECT_EQ(m.flops_per_token(5), 6.0 * static_cast<double>(m.parameters() - 80) + 12.0 * 3 * (2 * 6) * 5);
}

TEST(ModelConfig, RefusesImpossibleShapes) {
  const ModelConfig good = shape(64, 2, 4, 2, 96, 256);
  ModelConfig m = good;
  m.layers = 0;
  EXPECT_NE(refusal(m).find("sample: layers = 0"), std::string::npos);
  m = good;
  m.heads = 3;
  EXPECT_NE(refusal(m).find("dim = 64 is not a multiple of heads = 3"), std::string::npos);
  m = good;
  m.kv_heads = 3;
  EXPECT_NE(refusal(m).find("heads = 4 is not a multiple of kv_heads = 3"), std::string::npos);
  m = good;
  m.head_dim = 5;
  EXPECT_NE(refusal(m).find("head_dim = 5 must be even"), std::string::npos);
  m = good;
  m.norm_eps = 0;
  EXPECT_NE(refusal(m).find("norm_eps = 0"), std::string::npos);
}

}  // namespace
}  // namespace octet
