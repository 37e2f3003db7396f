// fp8 products summed as Hopper sums them: mmaemu's results bit for bit, a slow reference on random shapes, and the
// GEMM around it.
#include <map>
#include <random>

#include "kernels/cpu/gemm/hopper_multiply.h"
#include "tests/kernels/hopper_reference.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/golden.h"

namespace octet {
namespace {

using namespace test;
using Codes = std::vector<std::uint8_t>;

Codes transposed_codes(const Codes& x, std::int64_t rows, std::int64_t columns) {
  Codes y(x.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      y[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
    }
  }
  return y;
}

/// A [m, k] and B [n, k], along k both, and the formats.
struct Operands {
  std::int64_t m, n, k;
  DType a_dtype, b_dtype;
  Codes a, b;

  Codes row(std::int64_t i) const { return {a.begin() + i * k, a.begin() + (i + 1) * k}; }
  Codes column(std::int64_t j) const { return {b.begin() + j * k, b.begin() + (j + 1) * k}; }
  float reference(std::int64_t i, std::int64_t j, bool fast) const {
    return hopper_sum(row(i), a_dtype, column(j), b_dtype, fast);
  }
};

/// Stored as asked for; C is poisoned first.
std::vector<float> multiply(const Operands& x, bool fast, bool a_transposed = false, bool b_transposed = true) {
  const Codes a = a_transposed ? transposed_codes(x.a, x.m, x.k) : x.a,
              b = b_transposed ? x.b : transposed_codes(x.b, x.n, x.k);
  std::vector<float> c(static_cast<std::size_t>(x.m * x.n), nan_f32);
  cpu::hopper_multiply({.a = {a.data(), a_transposed ? x.m : x.k, a_transposed},
                        .b = {b.data(), b_transposed ? x.k : x.n, b_transposed},
                        .a_dtype = x.a_dtype,
                        .b_dtype = x.b_dtype,
                        .c = c.data(),
                        .m = x.m,
                        .n = x.n,
                        .k = x.k,
                        .fast = fast});
  return c;
}

template <typename T>
Codes codes_of(const Golden& golden, const std::string& name) {
  Codes codes;
  for (const T& x : golden.values<T>(name)) codes.push_back(x.bits);
  return codes;
}

Operands operands_of(const Golden& golden, const std::string& name) {
  const auto& a = golden.entry(name + ".a");
  const auto& b = golden.entry(name + ".b");
  const auto type = [](const Golden::Entry& e) { return e.dtype == "e4m3" ? DType::e4m3 : DType::e5m2; };
  const auto codes = [&](const Golden::Entry& e, const std::string& of) {
    return type(e) == DType::e4m3 ? codes_of<e4m3>(golden, of) : codes_of<e5m2>(golden, of);
  };
  return {a.shape[0], b.shape[0], a.shape[1], type(a), type(b), codes(a, name + ".a"), codes(b, name + ".b")};
}

void expect_bits(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
        << "element " << i << ": " << got[i] << ", expected " << want[i];
  }
}

TEST(Hopper, IsMmaemuBitForBit) {
  const Threads one(1);  // so small are they
  const Golden golden("hopper_accumulate");
  int cases = 0;
  for (const std::string& name : golden.names()) {
    if (!name.ends_with(".a")) continue;
    const std::string of = name.substr(0, name.size() - 2);
    const Operands x = operands_of(golden, of);
    for (const bool fast : {false, true}) {
      const auto want = golden.values<float>(of + (fast ? ".fast" : ".slow"));
      for (const int layout : {0, 1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << of << (fast ? " fast" : " slow") << " layout " << layout);
        expect_bits(multiply(x, fast, (layout & 1) != 0, (layout & 2) != 0), want);
      }
    }
    ++cases;
  }
  EXPECT_EQ(cases, 45);
}

/// The reference of the tests below against mmaemu too, on the cases whose codes are all finite.
TEST(Hopper, TheReferenceIsMmaemuBitForBit) {
  const Golden golden("hopper_accumulate");
  for (const std::string& name : golden.names()) {
    const std::string of = name.substr(0, name.size() - 2);
    if (!name.ends_with(".a") || of.ends_with("special")) continue;
    SCOPED_TRACE(of);
    const Operands x = operands_of(golden, of);
    for (const bool fast : {false, true}) {
      std::vector<float> got;
      for (std::int64_t i = 0; i < x.m; ++i) {
        for (std::int64_t j = 0; j < x.n; ++j) got.push_back(x.reference(i, j, fast));
      }
      expect_bits(got, golden.values<float>(of + (fast ? ".fast" : ".slow")));
    }
  }
}

/// Random codes: of a narrow or a wide range of magnitudes, some of them zero.
class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  Codes codes(std::int64_t n, DType format) {
    const std::int64_t limit = format == DType::e4m3 ? 0x7E : 0x7B;
    const std::int64_t low = integer(0, limit), high = std::min(limit, low + (integer(0, 1) == 0 ? 6 : 80));
    const std::int64_t zeros = integer(0, 2) == 0 ? 90 : 5;  // of 100
    Codes x(static_cast<std::size_t>(n));
    for (std::uint8_t& code : x) {
      const std::int64_t magnitude = integer(1, 100) <= zeros ? 0 : integer(low, high);
      code = static_cast<std::uint8_t>(magnitude | integer(0, 1) << 7);
    }
    return x;
  }
  Operands operands() {
    const std::pair<DType, DType> types[] = {
        {DType::e4m3, DType::e4m3}, {DType::e5m2, DType::e4m3}, {DType::e4m3, DType::e5m2}, {DType::e5m2, DType::e5m2}};
    const auto [a, b] = types[integer(0, 3)];
    const std::int64_t m = integer(1, 140), n = integer(1, 140), k = integer(1, integer(0, 3) == 0 ? 700 : 70);
    return {m, n, k, a, b, codes(m * k, a), codes(n * k, b)};
  }

 private:
  std::mt19937 generator_;
};

TEST(Hopper, IsTheRuleOnRandomShapes) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const Operands x = random.operands();
    const bool fast = round % 2 == 0, a_transposed = round % 4 < 2, b_transposed = round % 8 < 4;
    SCOPED_TRACE(testing::Message() << "round " << round << ": m " << x.m << " n " << x.n << " k " << x.k << " "
                                    << name_of(x.a_dtype) << " x " << name_of(x.b_dtype));
    const std::vector<float> got = multiply(x, fast, a_transposed, b_transposed);
    for (int sample = 0; sample < 300; ++sample) {
      const std::int64_t i = random.integer(0, x.m - 1), j = random.integer(0, x.n - 1);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[static_cast<std::size_t>(i * x.n + j)]),
                std::bit_cast<std::uint32_t>(x.reference(i, j, fast)))
          << i << ", " << j;
    }
  }
}

TEST(Hopper, SameBitsForAnyNumberOfThreads) {
  Random random(12);
  const Operands x{300,
                   270,
                   200,
                   DType::e5m2,
                   DType::e4m3,
                   random.codes(300 * 200, DType::e5m2),
                   random.codes(270 * 200, DType::e4m3)};
  for (const bool fast : {false, true}) {
    expect_same_bits_for_any_threads([&] { return multiply(x, fast); });
  }
}

/// Relative errors of long sums of normal values: what fast accumulation costs, and promotion repairs.
TEST(Hopper, ErrorsAreThoseOfThirteenBits) {
  const std::int64_t m = 8, n = 40, k = 4096;
  const auto a = random_values<e4m3>(m * k, 1), b = random_values<e4m3>(n * k, 2);
  Operands x{m, n, k, DType::e4m3, DType::e4m3, {}, {}};
  for (const e4m3 v : a) x.a.push_back(v.bits);
  for (const e4m3 v : b) x.b.push_back(v.bits);
  std::vector<double> exact;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(j * k + l)]);
      }
      exact.push_back(sum);
    }
  }
  const double fast = relative_error(multiply(x, true), exact), slow = relative_error(multiply(x, false), exact);
  EXPECT_GT(fast, 5e-4);
  EXPECT_LT(fast, 3e-3);
  EXPECT_GT(slow, 5e-5);
  EXPECT_LT(slow, 3e-4);
}

std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
std::uint32_t bits_of(bf16 x) {
  return x.bits;
}

/// The GEMM around it on C, with its workspace poisoned.
template <typename C>
void gemm(const Operands& x, bool fast, float beta, const GemmScales& scales, std::vector<C>& c) {
  Gemm args{.a = {x.a.data(), x.a_dtype, false, &scales.a},
            .b = {x.b.data(), x.b_dtype, true, &scales.b},
            .c = c.data(),
            .c_dtype = dtype_of<C>::value,
            .m = x.m,
            .n = x.n,
            .k = x.k,
            .beta = beta,
            .fast_accumulate = fast,
            .emulate_hopper = true};
  args.workspace_bytes = cpu::gemm_workspace(args);
  const auto workspace = make_workspace(args.workspace_bytes);
  args.workspace = workspace.get();
  cpu::gemm(stream(), args);
}

template <typename C>
struct HopperGemm : testing::Test {};
TYPED_TEST_SUITE(HopperGemm, Storages);

TYPED_TEST(HopperGemm, ScalesAddsAndRounds) {
  using C = TypeParam;
  Random random(13);
  const Operands x{
      50, 40, 300, DType::e5m2, DType::e4m3, random.codes(50 * 300, DType::e5m2), random.codes(40 * 300, DType::e4m3)};
  const GemmScales scales{0.0371f, 1.913f};
  for (const bool fast : {false, true}) {
    for (const float beta : {0.0f, 1.0f}) {
      const std::vector<C> before = random_values<C>(50 * 40, 3, 1e4);
      std::vector<C> got = beta == 0.0f ? std::vector<C>(before.size(), C(nan_f32)) : before;
      gemm(x, fast, beta, scales, got);
      for (std::size_t at = 0; at < got.size(); ++at) {
        const auto i = static_cast<std::int64_t>(at) / 40, j = static_cast<std::int64_t>(at) % 40;
        const float y = scales.a * scales.b * x.reference(i, j, fast);
        const C want(beta == 0.0f ? y : y + static_cast<float>(before[at]));
        ASSERT_EQ(bits_of(got[at]), bits_of(want)) << i << ", " << j << " beta " << beta;
      }
    }
  }
}

/// C larger than the workspace's chunk of rows.
TYPED_TEST(HopperGemm, InSeveralChunks) {
  using C = TypeParam;
  Random random(14);
  const std::int64_t m = 70001, n = 70, k = 16;
  const Operands x{
      m, n, k, DType::e4m3, DType::e4m3, random.codes(m * k, DType::e4m3), random.codes(n * k, DType::e4m3)};
  const GemmScales scales;
  std::vector<C> got(static_cast<std::size_t>(m * n));
  gemm(x, true, 0.0f, scales, got);
  for (std::int64_t i = 0; i < m; i += 11) {
    const C want(x.reference(i, i % n, true));
    ASSERT_EQ(bits_of(got[static_cast<std::size_t>(i * n + i % n)]), bits_of(want)) << i;
  }
}

/// Not asked for, or of other operands, the sums are fp32 whatever fast_accumulate says.
TEST(Hopper, OthersKeepFp32) {
  const std::int64_t n = 64, k = 512;
  const auto values = [&](auto zero) {
    using T = decltype(zero);
    const auto a = random_values<T>(n * k, 1), b = random_values<T>(n * k, 2);
    alignas(gemm_scale_alignment) const float one = 1.0f;
    const auto product = [&](bool fast, bool emulate) {
      std::vector<float> c(static_cast<std::size_t>(n * n));
      Gemm args{.a = {a.data(), dtype_of<T>::value, false, sizeof(T) == 1 ? &one : nullptr},
                .b = {b.data(), dtype_of<T>::value, true, sizeof(T) == 1 ? &one : nullptr},
                .c = c.data(),
                .m = n,
                .n = n,
                .k = k,
                .fast_accumulate = fast,
                .emulate_hopper = emulate};
      args.workspace_bytes = cpu::gemm_workspace(args);
      const auto workspace = make_workspace(args.workspace_bytes);
      args.workspace = workspace.get();
      cpu::gemm(stream(), args);
      return c;
    };
    return std::array{product(false, false), product(true, false), product(false, true), product(true, true)};
  };
  const auto of_bf16 = values(bf16{}), of_float8 = values(e4m3{});
  for (const std::size_t i : {1u, 2u, 3u}) EXPECT_TRUE(same_bits(of_bf16[0], of_bf16[i])) << i;
  EXPECT_TRUE(same_bits(of_float8[0], of_float8[1]));
  EXPECT_FALSE(same_bits(of_float8[0], of_float8[2]));
  EXPECT_FALSE(same_bits(of_float8[2], of_float8[3]));
}

}  // namespace
}  // namespace octet
