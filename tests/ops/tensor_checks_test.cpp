#include "src/ops/tensor_checks.h"

#include <limits>

#include "tests/ops/ops_test.h"

namespace octet {

/// For readable failures and comparisons.
static bool operator==(const TensorChecks::Finding& a, const TensorChecks::Finding& b) {
  return a.unit == b.unit && a.tensor == b.tensor && a.count == b.count;
}
static void PrintTo(const TensorChecks::Finding& f, std::ostream* out) {
  *out << f.unit << " " << f.tensor << " " << f.count;
}

namespace {

using Findings = std::vector<TensorChecks::Finding>;

struct Checks : test::OpsTest {
  TensorChecks checks{cpu_device(), *stream_, {"embedding", "block.0", "head"}, {"input", "gradient"}};

  void count(int unit, int tensor, std::vector<float> x) {
    measure(op_, test::view(x, {static_cast<std::int64_t>(x.size())}),
            {.amax = nullptr, .non_finite = checks.counter(unit, tensor)});
  }
};

constexpr float inf = std::numeric_limits<float>::infinity();

TEST_F(Checks, StartAtZero) {
  EXPECT_EQ(checks.size(), 6);
  EXPECT_EQ(checks.read(*stream_), Findings{});
}

TEST_F(Checks, CountsNanAndInfinityByUnitAndTensor) {
  count(0, 0, {1.0f, 3e38f, -0.0f});
  count(1, 0, {NAN, 1.0f, inf});
  count(1, 1, {-inf});
  count(2, 1, {NAN});
  EXPECT_EQ(checks.read(*stream_),
            (Findings{{"block.0", "input", 2}, {"block.0", "gradient", 1}, {"head", "gradient", 1}}));
}

TEST_F(Checks, AddUpUntilReset) {
  count(2, 0, {NAN});
  count(2, 0, {NAN, inf});
  EXPECT_EQ(checks.read(*stream_), (Findings{{"head", "input", 3}}));
  EXPECT_EQ(checks.all()[4], 3u);
  checks.reset(*stream_);
  EXPECT_EQ(checks.read(*stream_), Findings{});
}

TEST_F(Checks, SayThatACounterMayHaveStopped) {
  constexpr std::uint32_t largest = std::numeric_limits<std::uint32_t>::max();
  *checks.counter(0, 1) = largest - 1;
  *checks.counter(1, 0) = largest - 1;
  count(1, 0, {NAN, inf, NAN});
  const Findings found = checks.read(*stream_);
  ASSERT_EQ(found, (Findings{{"embedding", "gradient", largest - 1}, {"block.0", "input", largest}}));
  EXPECT_EQ(found[0].text(), "4294967294 non-finite element(s) in embedding, gradient");
  EXPECT_EQ(found[1].text(), "at least 4294967295 non-finite element(s) in block.0, input");
}

}  // namespace
}  // namespace octet
