#include "kernels/fill_normal.h"

#include <bit>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

constexpr RandomKey key{1234567890123, RandomPurpose::initial_weights, 17};

/// Columns 100 to 139 of rows 7 and on of a tensor of 1,000 columns.
TEST(FillNormal, PiecesHaveTheNumbersOfTheWholeTensor) {
  FillNormal args{.n = 40 * 300 + 3,
                  .columns = 40,
                  .first_row = 7,
                  .first_column = 100,
                  .row_elements = 1000,
                  .key = key,
                  .std = 0.02,
                  .below = below_cutoff(3.0)};
  std::vector<float> x(static_cast<std::size_t>(args.n) + 1, NAN);
  args.x = x.data();
  cpu::fill_normal(stream(), args);
  for (std::int64_t i = 0; i < args.n; ++i) {
    const auto element = static_cast<std::uint64_t>((7 + i / 40) * 1000 + 100 + i % 40);
    ASSERT_EQ(x[static_cast<std::size_t>(i)], static_cast<float>(0.02 * random_normal(key, element, 3.0))) << i;
  }
  EXPECT_TRUE(std::isnan(x.back())) << "written beyond the end";
}

/// The values of commit dd20a42, whose logarithm was the C library's: a run with an old seed begins where it did.
TEST(FillNormal, ValuesAreThoseOfEarlierVersions) {
  FillNormal args{.n = 1, .row_elements = 1'000'003, .key = key, .std = 0.02, .below = below_cutoff(3.0)};
  EXPECT_EQ(normal_value(args, 0), 0x1.e99f08p-8f);
  EXPECT_EQ(normal_value(args, 1), 0x1.21f946p-6f);
  EXPECT_EQ(normal_value(args, 2), -0x1.8b488ep-8f);
  std::uint64_t hash = 1469598103934665603;  // FNV-1a over 32-bit words
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(normal_value(args, i))) * 1099511628211;
  }
  EXPECT_EQ(hash, 0xd33b4572d1e93cd7);
}

TEST(FillNormal, NothingIsNothing) {
  cpu::fill_normal(stream(), {.n = 0, .key = key});
}

}  // namespace
}  // namespace octet
