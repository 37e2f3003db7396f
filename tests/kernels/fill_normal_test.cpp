#include "kernels/fill_normal.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

constexpr RandomKey key{1234567890123, RandomPurpose::initial_weights, 17};

/// a[0] + a[1] r + ... + a[7] r^7 over the same of b.
double ratio(const double (&a)[8], const double (&b)[8], double r) {
  double above = 0, below = 0;
  for (int i = 7; i >= 0; --i) {
    above = above * r + a[i];
    below = below * r + b[i];
  }
  return above / below;
}

/// AS 241 beyond its middle, with the C library's logarithm: as commit dd20a42 had it.
double old_tail(double p) {
  constexpr double middle_a[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                  3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double middle_b[8] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
  const double r = std::sqrt(-std::log(p < 0.5 ? p : 1.0 - p));
  const double x = ratio(middle_a, middle_b, r - 1.6);
  return p < 0.5 ? -x : x;
}

/// OCTET_TEST_NORMALS: how many are compared (docs/numerics.md).
std::int64_t compared_normals() {
  const char* wanted = std::getenv("OCTET_TEST_NORMALS");
  return wanted == nullptr ? 1'000'000 : std::stoll(wanted);
}

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

/// The logarithm is asked beyond |p - 0.5| = 0.425 alone; cut at 3, r stays below 5.
TEST(FillNormal, ValuesOfTheTailsAreThoseOfTheCLibrarysLogarithm) {
  constexpr std::int64_t at_once = 1 << 20;
  std::vector<float> x(at_once);
  std::int64_t beyond = 0, other = 0;
  const std::int64_t all = compared_normals();
  const double below = below_cutoff(3.0);
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t n = std::min(at_once, all - first);
    cpu::fill_normal(
        stream(),
        {.x = x.data(), .n = n, .first_row = first, .row_elements = 1, .key = key, .std = 0.02, .below = below});
    for (std::int64_t i = 0; i < n; ++i) {
      const double p = below + (1.0 - 2.0 * below) * random_uniform(key, static_cast<std::uint64_t>(first + i));
      if (std::abs(p - 0.5) <= 0.425) continue;
      ++beyond;
      other += x[static_cast<std::size_t>(i)] == static_cast<float>(0.02 * old_tail(p)) ? 0 : 1;
    }
  }
  EXPECT_EQ(other, 0) << "of " << beyond;
  EXPECT_NEAR(static_cast<double>(beyond) / static_cast<double>(all), 0.1477, 0.005);
}

TEST(FillNormal, NothingIsNothing) {
  cpu::fill_normal(stream(), {.n = 0, .key = key});
}

}  // namespace
}  // namespace octet
