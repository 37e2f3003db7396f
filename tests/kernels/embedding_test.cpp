#include "kernels/embedding.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

template <typename T>
class Embedding : public testing::Test {};
TYPED_TEST_SUITE(Embedding, Storages);

template <typename T>
std::vector<T> embed(const std::vector<std::int32_t>& tokens, const std::vector<T>& table, std::int64_t vocab,
                     std::int64_t vocab_begin = 0) {
  const auto n = static_cast<std::int64_t>(tokens.size()), dim = static_cast<std::int64_t>(table.size()) / vocab;
  std::vector<T> out(static_cast<std::size_t>(n * dim), T(nan_f32));
  cpu::embedding_forward(stream(), {.tokens = tokens.data(),
                                    .table = table.data(),
                                    .out = out.data(),
                                    .dtype = dtype_of<T>::value,
                                    .n = n,
                                    .vocab = vocab,
                                    .dim = dim,
                                    .vocab_begin = vocab_begin});
  return out;
}

template <typename T>
void embed_backward(const std::vector<std::int32_t>& tokens, const std::vector<T>& d_out, std::vector<float>& d_table,
                    std::int64_t vocab, bool accumulate, std::int64_t vocab_begin = 0) {
  cpu::embedding_backward(stream(), {.tokens = tokens.data(),
                                     .d_out = d_out.data(),
                                     .dtype = dtype_of<T>::value,
                                     .d_table = d_table.data(),
                                     .accumulate = accumulate,
                                     .n = static_cast<std::int64_t>(tokens.size()),
                                     .vocab = vocab,
                                     .dim = static_cast<std::int64_t>(d_table.size()) / vocab,
                                     .vocab_begin = vocab_begin});
}

std::vector<std::int32_t> random_tokens(std::int64_t n, std::int64_t vocab) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(random_bits({.seed = 3}, i) % static_cast<std::uint64_t>(vocab));
  }
  return tokens;
}

TYPED_TEST(Embedding, ForwardCopiesRows) {
  using T = TypeParam;
  const auto table = stored<T>({0, 1, 2, 10, 11, 12, 20, nan_f32, -infinity_f32});
  const auto out = embed<T>({2, 0, 2, 1}, table, 3);
  const auto expected = stored<T>({20, nan_f32, -infinity_f32, 0, 1, 2, 20, nan_f32, -infinity_f32, 10, 11, 12});
  EXPECT_TRUE(same_bits(out, expected));
  EXPECT_TRUE(same_bits(embed<T>({1}, stored<T>({5, 6}), 2), stored<T>({6})));
  EXPECT_TRUE(embed<T>({}, table, 3).empty());
}

TYPED_TEST(Embedding, ForwardOfAPartGivesZeroRowsElsewhere) {
  using T = TypeParam;
  const auto table = stored<T>({20, nan_f32, 30, -infinity_f32});  // ids 2 and 3
  const auto out = embed<T>({3, 1, 2, 4, 0, -1, 2147483647}, table, 2, 2);
  EXPECT_TRUE(same_bits(out, stored<T>({30, -infinity_f32, 0, 0, 20, nan_f32, 0, 0, 0, 0, 0, 0, 0, 0})));
}

TYPED_TEST(Embedding, PartsTogetherAreTheWhole) {
  using T = TypeParam;
  const std::int64_t vocab = 11, dim = 33, n = 61;
  const auto tokens = random_tokens(n, vocab);
  const auto d_out = random_values<T>(n * dim, 1);
  for (const bool accumulate : {false, true}) {
    const auto before = random_values(vocab * dim, 2);
    auto whole = before;
    embed_backward(tokens, d_out, whole, vocab, accumulate);
    std::vector<float> joined;
    for (const auto& [begin, count] : {std::pair{0, 4}, std::pair{4, 6}, std::pair{10, 1}}) {
      std::vector<float> part(before.begin() + begin * dim, before.begin() + (begin + count) * dim);
      embed_backward(tokens, d_out, part, count, accumulate, begin);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_TRUE(same_bits(joined, whole));
  }
}

TYPED_TEST(Embedding, BackwardSumsRepeatedTokensInTheirOrder) {
  using T = TypeParam;
  const std::vector<std::int32_t> tokens = {1, 1, 0, 1, 1};
  // In token order (2^26 + 1) - 2^26 + 1 = 1 in fp32; any other order of the four gives 2 or 0.
  const auto d_out = stored<T>({0x1p26f, 2, 1, 2, 7, 8, -0x1p26f, 2, 1, 2});
  std::vector<float> d_table = {9, 9, 9, 9, 9, 9};
  embed_backward(tokens, d_out, d_table, 3, false);
  EXPECT_EQ(d_table, (std::vector<float>{7, 8, 1, 8, 0, 0}));
  embed_backward(tokens, d_out, d_table, 3, true);
  EXPECT_EQ(d_table[0], 14.0f);
  EXPECT_EQ(d_table[3], 16.0f);
  EXPECT_EQ(d_table[5], 0.0f);
}

TYPED_TEST(Embedding, BackwardIsTheOrderedSumForAnyShapeAndThreads) {
  using T = TypeParam;
  const std::int64_t vocab = 5, n = 61;
  const auto tokens = random_tokens(n, vocab);
  for (const std::int64_t dim : {1, 15, 16, 33, 100}) {
    const auto d_out = random_values<T>(n * dim, 1);
    std::vector<float> expected(static_cast<std::size_t>(vocab * dim), 0.0f);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < dim; ++c) {
        expected[static_cast<std::size_t>(tokens[static_cast<std::size_t>(i)] * dim + c)] +=
            static_cast<float>(d_out[static_cast<std::size_t>(i * dim + c)]);
      }
    }
    expect_same_bits_for_any_threads([&] {
      std::vector<float> d_table(expected.size(), nan_f32);
      embed_backward(tokens, d_out, d_table, vocab, false);
      EXPECT_TRUE(same_bits(d_table, expected)) << "dim " << dim;
      return d_table;
    });
  }
}

TEST(EmbeddingGradient, AgreesWithFiniteDifferences) {
  const std::int64_t vocab = 4, dim = 3, n = 7;
  const auto tokens = random_tokens(n, vocab);
  auto table = random_values(vocab * dim, 1);
  const auto d_out = random_values(n * dim, 2);
  std::vector<float> d_table(table.size());
  embed_backward(tokens, d_out, d_table, vocab, false);
  const auto numeric =
      central_differences(table, 0.125f, [&] { return weighted_sum(embed(tokens, table, vocab), d_out); });
  EXPECT_LT(relative_error(d_table, numeric), 1e-6);
}

}  // namespace
}  // namespace octet
