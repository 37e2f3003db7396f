#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/base/error.h"
#include "src/model/stages.h"

namespace octet {
namespace {

ModelConfig model_of(std::int64_t layers, std::int64_t vocab) {
  ModelConfig m{
      .name = "m", .dim = 64, .layers = layers, .heads = 4, .kv_heads = 4, .ffn_dim = 256, .vocab_size = vocab};
  m.finish();
  return m;
}

std::string blocks(const ModelConfig& m, const std::vector<UnitRange>& stages) {
  std::vector<int> counts;
  counts.reserve(stages.size());
  for (const UnitRange& s : stages) counts.push_back(std::min(s.end, head_unit(m)) - std::max(s.begin, block_unit(0)));
  return fmt::format("{}", fmt::join(counts, " "));
}

TEST(EvenStages, HaveEqualBlocksWhereTheHeadIsCheap) {
  const ModelConfig m = model_of(8, 16);
  const auto stages = even_stages(m, 64, 4);
  EXPECT_EQ(blocks(m, stages), "2 2 2 2");
  EXPECT_EQ(stages.front().begin, embedding_unit);
  EXPECT_EQ(stages.back().end, head_unit(m) + 1);
  for (std::size_t i = 1; i < stages.size(); ++i) EXPECT_EQ(stages[i].begin, stages[i - 1].end);
}

TEST(EvenStages, TheHeadCountsAsWhatItCosts) {
  ModelConfig m = model_of(10, 16);
  const double block = unit_flops(m, 64)[1];
  m.vocab_size = static_cast<std::int64_t>(2 * block / (6.0 * 64));  // as two blocks
  EXPECT_EQ(blocks(m, even_stages(m, 64, 4)), "3 3 3 1");
  EXPECT_EQ(blocks(m, even_stages(m, 64, 10)), "1 1 1 1 1 1 1 1 1 1");
}

/// Llama 3 405B on 16 stages, as its paper has them (arXiv:2407.21783, section 3.3.2): a block less in the first and
/// the last.
TEST(EvenStages, OfLlama405B) {
  ModelConfig m{
      .name = "405b", .dim = 16384, .layers = 126, .heads = 128, .kv_heads = 8, .ffn_dim = 53248, .vocab_size = 128256};
  m.finish();
  EXPECT_EQ(blocks(m, even_stages(m, 8192, 16)), "7 8 8 8 8 8 8 8 8 8 8 8 8 8 8 7");
}

TEST(EvenStages, OfGivenBlocks) {
  const ModelConfig m = model_of(5, 16);
  EXPECT_EQ(blocks(m, stages_of_blocks(m, {1, 3, 1})), "1 3 1");
  EXPECT_THROW(stages_of_blocks(m, {2, 2}), Error);
  EXPECT_THROW(stages_of_blocks(m, {5, 0}), Error);
  EXPECT_THROW(even_stages(m, 64, 6), Error);
}

}  // namespace
}  // namespace octet
