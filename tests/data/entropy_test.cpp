#include "src/data/entropy.h"

#include <cmath>
#include <map>

#include "src/base/random.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using test::TempFolder;

ByteEntropies entropies_of(const std::vector<std::int32_t>& bytes) {
  ByteEntropyCounter counter;
  counter.add(bytes);
  return counter.entropies();
}

TEST(ByteEntropy, OfKnownDistributions) {
  const auto constant = entropies_of(std::vector<std::int32_t>(100, 7));
  EXPECT_EQ(constant.order0, 0);
  EXPECT_EQ(constant.order1, 0);
  EXPECT_EQ(constant.order2, 0);

  std::vector<std::int32_t> alternating;
  for (int i = 0; i < 1000; ++i) alternating.push_back(i % 2);
  const auto two = entropies_of(alternating);
  EXPECT_NEAR(two.order0, std::log(2.0), 1e-12);
  EXPECT_EQ(two.order1, 0);

  // a a b b a a b b ...: one byte leaves two possibilities, two bytes none.
  std::vector<std::int32_t> pairs;
  for (int i = 0; i < 4001; ++i) pairs.push_back(i / 2 % 2 == 0 ? 'a' : 'b');
  const auto four = entropies_of(pairs);
  EXPECT_NEAR(four.order0, std::log(2.0), 1e-6);
  EXPECT_NEAR(four.order1, std::log(2.0), 1e-6);
  EXPECT_EQ(four.order2, 0);

  // 1/2, 1/4, 1/4.
  EXPECT_NEAR(entropies_of({1, 1, 2, 3}).order0, 1.5 * std::log(2.0), 1e-12);
  EXPECT_EQ(entropies_of({}).order0, 0);
  EXPECT_EQ(entropies_of({5}).order1, 0);
}

TEST(ByteEntropy, OfUniformBytesIsLn256) {
  std::vector<std::int32_t> bytes;
  for (std::int32_t a = 0; a < 256; ++a) {
    for (std::int32_t b = 0; b < 256; ++b) bytes.insert(bytes.end(), {a, b});
  }
  EXPECT_NEAR(entropies_of(bytes).order0, std::log(256.0), 1e-12);
}

/// Straight from the definition.
double reference(const std::vector<std::int32_t>& bytes, std::size_t order) {
  std::map<std::vector<std::int32_t>, std::map<std::int32_t, double>> counts;
  for (std::size_t i = order; i < bytes.size(); ++i) {
    counts[{bytes.begin() + static_cast<std::ptrdiff_t>(i - order), bytes.begin() + static_cast<std::ptrdiff_t>(i)}]
          [bytes[i]] += 1;
  }
  double nats = 0;
  for (const auto& [context, row] : counts) {
    double total = 0;
    for (const auto& [byte, n] : row) total += n;
    for (const auto& [byte, n] : row) nats -= n * std::log(n / total);
  }
  return nats / static_cast<double>(bytes.size() - order);
}

TEST(ByteEntropy, AgreesWithTheDefinition) {
  std::vector<std::int32_t> bytes;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const auto noise = static_cast<std::int32_t>(random_bits({1, RandomPurpose::test, 0}, i) % 7);
    bytes.push_back(i > 2 && noise < 4 ? (bytes.back() * 3 + bytes[bytes.size() - 2]) % 256 : 250 + noise % 6);
  }
  const auto got = entropies_of(bytes);
  EXPECT_NEAR(got.order0, reference(bytes, 0), 1e-10);
  EXPECT_NEAR(got.order1, reference(bytes, 1), 1e-10);
  EXPECT_NEAR(got.order2, reference(bytes, 2), 1e-10);
  EXPECT_GT(got.order0, got.order1);
  EXPECT_GT(got.order1, got.order2);
}

TEST(ByteEntropy, ChunksDoNotMatterAndTextsDoNotTouch) {
  const std::vector<std::int32_t> text = {1, 2, 3, 1, 2, 4, 1, 2, 3, 9, 9, 1};
  ByteEntropyCounter pieces;
  for (const std::int32_t byte : text) pieces.add(std::span(&byte, 1));
  EXPECT_EQ(pieces.entropies().order2, entropies_of(text).order2);

  // After "a": always "b". Were the texts joined, "b" would be followed by "a" as well.
  ByteEntropyCounter apart;
  for (const std::int32_t next : {'b', 'b', 'c', 'c'}) {
    apart.begin();
    apart.context('a');
    apart.add(std::vector<std::int32_t>{next});
  }
  EXPECT_NEAR(apart.entropies().order0, std::log(2.0), 1e-12);
  EXPECT_NEAR(apart.entropies().order1, std::log(2.0), 1e-12);
  EXPECT_EQ(apart.entropies().order2, 0);
  EXPECT_THROW(apart.add(std::vector<std::int32_t>{256}), Error);
}

TEST(ByteEntropy, OfTheValidationSplitCountsItsTargetsOnly) {
  const TempFolder folder;
  // Windows of four targets: each repeats its number, so a split's bytes tell which windows were counted.
  test::write_tokens(folder / "x", 4 * 100 + 1, TokenType::u8, [](std::int64_t i) { return (i + 3) / 4 % 256; });
  const SamplerConfig config{.seq_len = 4, .global_batch = 3, .vocab_size = 256, .seed = 1, .validation_fraction = 0.1};
  const Sampler sampler({{folder / "x", 1.0}}, config);
  const auto whole = validation_entropies(sampler);
  ASSERT_TRUE(whole.has_value());
  EXPECT_NEAR(whole->order0, std::log(10.0), 1e-12);  // ten windows of four equal bytes each
  const auto first = validation_entropies(sampler, 2);
  EXPECT_NEAR(first->order0, std::log(6.0), 1e-12);
  EXPECT_EQ(first->order2, 0);
}

TEST(ByteEntropy, IsForByteTokensOnly) {
  const TempFolder folder;
  test::write_tokens(folder / "x", 400, TokenType::u16, [](std::int64_t i) { return i; });
  EXPECT_EQ(stream_entropies(TokenFile(folder / "x")), std::nullopt);
}

}  // namespace
}  // namespace octet
