#include "src/data/sample_order.h"

#include <algorithm>
#include <set>

#include "tests/data/support.h"

namespace octet {
namespace {

RandomKey key_of(std::uint64_t seed) {
  return {seed, RandomPurpose::test, 0};
}

std::vector<std::uint64_t> whole(const Permutation& order) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < order.size(); ++i) values.push_back(order(i));
  return values;
}

TEST(Permutation, IsABijectionForEverySize) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= 130; ++size) sizes.push_back(size);
  for (const std::uint64_t size : {251u, 255u, 256u, 257u, 1021u, 4096u, 4097u, 10007u, 65535u, 65536u, 65537u}) {
    sizes.push_back(size);
  }
  for (const std::uint64_t size : sizes) {
    std::vector<bool> seen(size, false);
    for (const std::uint64_t value : whole(Permutation(key_of(size), size))) {
      ASSERT_LT(value, size);
      ASSERT_FALSE(seen[value]) << "size " << size << " maps two to " << value;
      seen[value] = true;
    }
  }
}

TEST(Permutation, StaysInRangeAndInjectiveBeyondThirtyTwoBits) {
  for (const std::uint64_t size : {(std::uint64_t{1} << 32) + 1, std::uint64_t{1} << 40, (std::uint64_t{1} << 45) - 55,
                                   std::uint64_t{1'000'000'000'039}, ~std::uint64_t{0}}) {
    const Permutation order(key_of(3), size);
    std::set<std::uint64_t> seen;
    bool high = false;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint64_t spread = size / 2000 * i;
      for (const std::uint64_t index : {i, spread + 7 % size, size - 1 - i}) {
        const std::uint64_t value = order(index);
        ASSERT_LT(value, size);
        seen.insert(value);
        high |= value > size / 2;
      }
    }
    std::set<std::uint64_t> asked;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      asked.insert({i, size / 2000 * i + 7 % size, size - 1 - i});
    }
    EXPECT_EQ(seen.size(), asked.size()) << size;
    EXPECT_TRUE(high);
  }
}

TEST(Permutation, DependsOnTheKeyAndOnNothingElse) {
  const auto a = whole(Permutation(key_of(1), 1000));
  EXPECT_EQ(a, whole(Permutation(key_of(1), 1000)));
  EXPECT_NE(a, whole(Permutation(key_of(2), 1000)));
  RandomKey other = key_of(1);
  other.stream = 1;
  EXPECT_NE(a, whole(Permutation(other, 1000)));
}

// Every value is equally likely at every place: 20,000 keys over 5! permutations, chi-squared with 119 degrees of
// freedom has mean 119 and standard deviation 15.4; 200 is beyond five of them. The keys are fixed, so is the result.
TEST(Permutation, ReachesAllPermutationsOfFiveEvenly) {
  constexpr int draws = 20000;
  std::vector<int> counts;
  std::vector<std::vector<std::uint64_t>> kinds;
  for (int seed = 0; seed < draws; ++seed) {
    const auto p = whole(Permutation(key_of(static_cast<std::uint64_t>(seed)), 5));
    const auto at = std::find(kinds.begin(), kinds.end(), p);
    if (at == kinds.end()) {
      kinds.push_back(p);
      counts.push_back(1);
    } else {
      ++counts[static_cast<std::size_t>(at - kinds.begin())];
    }
  }
  EXPECT_EQ(kinds.size(), 120u);
  double chi_squared = 0;
  for (const int n : counts) chi_squared += (n - draws / 120.0) * (n - draws / 120.0) / (draws / 120.0);
  EXPECT_LT(chi_squared, 200.0);
}

// The file format of data order: these values may never change, or resumed runs would read other data.
TEST(Permutation, KeepsItsValues) {
  EXPECT_EQ(whole(Permutation({1, RandomPurpose::data_order, 0}, 10)),
            (std::vector<std::uint64_t>{7, 9, 6, 3, 8, 4, 5, 1, 0, 2}));
}

// The examples of docs/data.md, "The order of samples".
TEST(Permutation, IsWhatTheDocumentationSays) {
  const RandomKey split{0, RandomPurpose::data_split, 0};
  EXPECT_EQ(random_bits(split, 0), 0x8f1a3087f2237f09u);
  EXPECT_EQ(whole(Permutation(split, 10)), (std::vector<std::uint64_t>{8, 7, 0, 2, 1, 5, 6, 4, 3, 9}));
}

TEST(Permutation, RefusesWhatItCannotMap) {
  EXPECT_THROW(Permutation(key_of(1), 0), Error);
  EXPECT_THROW(Permutation(key_of(1), 10)(10), Error);
  EXPECT_EQ(Permutation(key_of(1), 1)(0), 0u);
}

}  // namespace
}  // namespace octet
