#include "src/data/window_documents.h"

#include "src/data/sampler.h"
#include "src/data/token_writer.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using Begins = std::vector<std::int32_t>;

class WindowDocuments : public testing::Test {
 protected:
  /// A file with documents of these lengths.
  TokenFile write(const std::vector<std::int64_t>& lengths) {
    TokenFileWriter writer(folder_ / "x", TokenType::u8, {.overwrite = true});
    for (const std::int64_t length : lengths) {
      writer.append(std::vector<std::int32_t>(static_cast<std::size_t>(length), 1));
      writer.end_document();
    }
    writer.finish();
    return TokenFile(folder_ / "x");
  }
  static Begins found(const TokenFile& file, std::int64_t position, std::int64_t count) {
    Begins begin(static_cast<std::size_t>(count), -1);
    find_documents(file, position, begin);
    return begin;
  }
  test::TempFolder folder_;
};

TEST_F(WindowDocuments, BeginWhereTheIndexSaysAndWithTheWindow) {
  const TokenFile file = write({3, 1, 0, 0, 4});
  EXPECT_EQ(found(file, 0, 8), (Begins{0, 0, 0, 3, 4, 4, 4, 4}));
  EXPECT_EQ(found(file, 1, 5), (Begins{0, 0, 2, 3, 3}));
  EXPECT_EQ(found(file, 3, 2), (Begins{0, 1}));
  EXPECT_EQ(found(file, 5, 3), (Begins{0, 0, 0}));
  EXPECT_EQ(found(file, 7, 1), (Begins{0}));
  EXPECT_HAS(test::error_of([&] { found(file, 5, 4); }, ExitCode::internal), "tokens 5 to 9 of 8");
}

TEST_F(WindowDocuments, AreThoseOfASearchTokenByToken) {
  std::vector<std::int64_t> lengths;
  Begins expected;  // of the whole file
  for (std::int64_t i = 0; i < 300; ++i) lengths.push_back(i * i % 23);
  for (const std::int64_t length : lengths) {
    const auto first = static_cast<std::int32_t>(expected.size());
    for (std::int64_t i = 0; i < length; ++i) expected.push_back(first);
  }
  const TokenFile file = write(lengths);
  for (std::int64_t position = 0; position + 64 <= file.tokens(); position += 13) {
    Begins window;
    for (std::int64_t i = position; i < position + 64; ++i) {
      window.push_back(
          static_cast<std::int32_t>(std::max<std::int64_t>(expected[static_cast<std::size_t>(i)] - position, 0)));
    }
    ASSERT_EQ(found(file, position, 64), window) << position;
  }
}

TEST_F(WindowDocuments, CostTheSumOfTheSquaresOfTheirLengths) {
  EXPECT_EQ(sum_of_squares(Begins{0, 0, 0, 3, 4, 4, 4, 4}), 9 + 1 + 16);
  EXPECT_EQ(sum_of_squares(Begins(100, 0)), 10000);
  EXPECT_EQ(sum_of_squares(Begins{}), 0);
}

TEST_F(WindowDocuments, AttentionAcrossThemIsWhatAMaskTakesAway) {
  EXPECT_DOUBLE_EQ(attention_across_documents(write({100}), 10), 0);
  EXPECT_DOUBLE_EQ(attention_across_documents(write(std::vector<std::int64_t>(100, 10)), 10), 0);
  // Two documents of 2 tokens a window: 6 of its 10 pairs are within them.
  EXPECT_DOUBLE_EQ(attention_across_documents(write(std::vector<std::int64_t>(40, 2)), 4), 0.4);
  EXPECT_DOUBLE_EQ(attention_across_documents(write({3}), 4), 0);
}

/// A run fills the same batch in every step: what one window left must not show in the next.
TEST_F(WindowDocuments, ABatchThatIsUsedAgainIsAsGoodAsNew) {
  write({4, 2, 2, 4, 4, 1, 3, 4, 4, 3, 1, 4, 1});
  const Sampler sampler({{folder_ / "x", 1.0}},
                        {.seq_len = 4, .global_batch = 1, .vocab_size = 256, .seed = 3, .document_mask = true});
  Batch used;
  int whole = 0, cut = 0;
  for (std::int64_t step = 0; step < 18; ++step) {
    Batch fresh;
    for (Batch* batch : {&used, &fresh})
      sampler.train_batch(step, {.rank = 0, .ranks = 1, .micro_batch = 1}, 0, *batch);
    EXPECT_EQ(used.tokens, fresh.tokens) << step;
    EXPECT_EQ(used.targets, fresh.targets) << step;
    EXPECT_EQ(used.document_begin, fresh.document_begin) << step;
    ++(fresh.document_begin.empty() ? whole : cut);
  }
  EXPECT_GT(whole, 1);
  EXPECT_GT(cut, 1);
}

}  // namespace
}  // namespace octet
