#include "kernels/cpu/gemm/gemm_input.h"
#include "kernels/cpu/gemm/multiply.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

/// One GEMM on values, whatever the types: bytes as stored, and the same in double.
struct Matrix {
  DType dtype = DType::f32;
  std::vector<std::uint8_t> bytes;
  std::vector<double> values;

  Matrix(DType type, const std::vector<float>& x) : dtype(type) {
    if (type == DType::f32) take(stored<float>(x));
    if (type == DType::bf16) take(stored<bf16>(x));
    if (type == DType::e4m3) take(stored<e4m3>(x));
    if (type == DType::e5m2) take(stored<e5m2>(x));
  }
  template <typename T>
  void take(const std::vector<T>& x) {
    bytes.resize(x.size() * sizeof(T));
    if (!x.empty()) std::memcpy(bytes.data(), x.data(), bytes.size());
    values = widened(x);
  }
};

struct GemmCase {
  std::int64_t m, n, k;
  bool ta, tb;
  DType a, b, c;
  float beta;
};

Gemm gemm_of(const GemmCase& t, const Matrix& a, const Matrix& b, Matrix& c, const GemmScales& scales) {
  Gemm args;
  args.a = {a.bytes.data(), t.a, t.ta, is_float8(t.a) ? &scales.a : nullptr};
  args.b = {b.bytes.data(), t.b, t.tb, is_float8(t.b) ? &scales.b : nullptr};
  args.c = c.bytes.data();
  args.c_dtype = t.c;
  args.m = t.m;
  args.n = t.n;
  args.k = t.k;
  args.beta = t.beta;
  return args;
}

void run_gemm(Gemm args) {
  args.workspace_bytes = cpu::gemm_workspace(args);
  const auto workspace = make_workspace(args.workspace_bytes);
  args.workspace = workspace.get();
  cpu::gemm(stream(), args);
}

std::vector<double> values_of(const Matrix& c) {
  std::vector<double> y(c.values.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    float v = 0;
    if (c.dtype == DType::f32) {
      std::memcpy(&v, &c.bytes[4 * i], 4);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &c.bytes[2 * i], 2);
      v = bf16::from_bits(bits);
    }
    y[i] = static_cast<double>(v);
  }
  return y;
}

void check_gemm(const GemmCase& t) {
  SCOPED_TRACE(testing::Message() << "m " << t.m << " n " << t.n << " k " << t.k << (t.ta ? " T" : " N")
                                  << (t.tb ? "T " : "N ") << name_of(t.a) << " " << name_of(t.b) << " " << name_of(t.c)
                                  << " beta " << t.beta);
  const Matrix a(t.a, random_values(t.m * t.k, 1)), b(t.b, random_values(t.k * t.n, 2));
  Matrix c(t.c, random_values(t.m * t.n, 3, 10.0f));
  const GemmScales scales{0.0371f, 1.913f};
  const double scale = (is_float8(t.a) ? static_cast<double>(scales.a * scales.b) : 1.0);
  // Of a large C a sample, spread over all of it.
  const std::int64_t step = 1 + t.m * t.n * t.k / 5'000'000;
  std::vector<double> want;
  for (std::int64_t at = 0; at < t.m * t.n; at += step) {
    const std::int64_t i = at / t.n, j = at % t.n;
    double sum = 0;
    for (std::int64_t l = 0; l < t.k; ++l) {
      sum += a.values[static_cast<std::size_t>(t.ta ? l * t.m + i : i * t.k + l)] *
             b.values[static_cast<std::size_t>(t.tb ? j * t.k + l : l * t.n + j)];
    }
    want.push_back(scale * sum + (t.beta != 0.0f ? c.values[static_cast<std::size_t>(at)] : 0.0));
  }
  // Without a sum to add C must not be read: NaN there must not come through.
  if (t.beta == 0.0f) std::fill(c.bytes.begin(), c.bytes.end(), std::uint8_t{0xFF});
  run_gemm(gemm_of(t, a, b, c, scales));
  if (t.m * t.n == 0) return;
  const double tolerance = t.c == DType::bf16 ? 4e-3 : 1e-6;
  if (t.k == 0 && t.beta == 0.0f) {
    for (const double v : values_of(c)) ASSERT_EQ(v, 0.0);
  } else {
    std::vector<double> got;
    const std::vector<double> all = values_of(c);
    for (std::size_t at = 0; at < all.size(); at += static_cast<std::size_t>(step)) got.push_back(all[at]);
    EXPECT_LT(relative_error(got, want), tolerance);
  }
}

constexpr std::pair<DType, DType> operand_types[] = {{DType::f32, DType::f32},   {DType::bf16, DType::bf16},
                                                     {DType::e4m3, DType::e4m3}, {DType::e5m2, DType::e4m3},
                                                     {DType::e4m3, DType::e5m2}, {DType::e5m2, DType::e5m2}};

void check_all(std::int64_t m, std::int64_t n, std::int64_t k) {
  for (const auto& [a, b] : operand_types) {
    for (const DType c : {DType::f32, DType::bf16}) {
      for (const float beta : {0.0f, 1.0f}) {
        for (const int transposed : {0, 1, 2, 3})
          check_gemm({m, n, k, (transposed & 1) != 0, (transposed & 2) != 0, a, b, c, beta});
      }
    }
  }
}

TEST(Gemm, EveryTypeAndTranspositionSmall) {
  check_all(5, 7, 3);
  check_all(48, 33, 80);
}

TEST(Gemm, OneRowOneColumnOneTerm) {
  check_all(1, 19, 8);
  check_all(19, 1, 8);
  check_all(6, 5, 1);
}

TEST(Gemm, ZeroExtents) {
  check_all(0, 4, 5);
  check_all(4, 0, 5);
  check_all(4, 5, 0);
}

// Chunks of rows, of the sum, and of the columns, with a remainder each.
TEST(Gemm, InSeveralChunks) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      check_gemm({70000, 16, 48, ta, tb, DType::bf16, DType::bf16, DType::bf16, 1.0f});
      check_gemm({24, 40, 70001, ta, tb, DType::e5m2, DType::e4m3, DType::f32, 1.0f});
    }
  }
  check_gemm({600, 4200, 4096, false, true, DType::e4m3, DType::e4m3, DType::bf16, 0.0f});
}

TEST(Gemm, ExactOnSmallIntegers) {
  const GemmCase t{64, 48, 32, false, true, DType::e4m3, DType::e5m2, DType::f32, 0.0f};
  std::vector<float> x, y;
  for (int i = 0; i < 64 * 32; ++i) x.push_back(static_cast<float>(i * 7 % 15 - 7));
  for (int i = 0; i < 48 * 32; ++i) y.push_back(static_cast<float>(i * 5 % 9 - 4));
  const Matrix a(t.a, x), b(t.b, y);
  Matrix c(t.c, std::vector<float>(64 * 48));
  const GemmScales scales{0.1f, 0.3f};
  run_gemm(gemm_of(t, a, b, c, scales));
  const std::vector<double> got = values_of(c);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 48; ++j) {
      float sum = 0;
      for (std::size_t l = 0; l < 32; ++l) {
        sum += static_cast<float>(a.values[i * 32 + l]) * static_cast<float>(b.values[j * 32 + l]);
      }
      // The integer sum is exact, so the inverse scales must come as one fp32 product, applied once.
      ASSERT_EQ(static_cast<float>(got[i * 48 + j]), sum * (0.1f * 0.3f)) << i << ", " << j;
    }
  }
}

TEST(Gemm, SameThreadsSameBits) {
  const Matrix a(DType::bf16, random_values(300 * 200, 1)), b(DType::bf16, random_values(200 * 100, 2));
  const GemmCase t{300, 100, 200, false, false, DType::bf16, DType::bf16, DType::f32, 0.0f};
  for (const int n : {1, 2, 3}) {
    const Threads threads(n);
    Matrix c(t.c, std::vector<float>(300 * 100)), again = c;
    run_gemm(gemm_of(t, a, b, c, {}));
    run_gemm(gemm_of(t, a, b, again, {}));
    EXPECT_EQ(c.bytes, again.bytes) << n << " threads";
  }
}

TEST(Gemm, TooSmallAWorkspaceIsAnError) {
  const Matrix a(DType::bf16, random_values(64, 1)), b(DType::bf16, random_values(64, 2));
  Matrix c(DType::bf16, std::vector<float>(64));
  Gemm args = gemm_of({8, 8, 8, false, false, DType::bf16, DType::bf16, DType::bf16, 0.0f}, a, b, c, {});
  if (cpu::gemm_workspace(args) == 0) GTEST_SKIP() << "this processor multiplies bf16 as it is stored";
  args.workspace_bytes = cpu::gemm_workspace(args) - 1;
  EXPECT_THROW(cpu::gemm(stream(), args), Error);
}

// The way of bf16 processors, with f32 so that it runs on any.
TEST(Multiply, ThePrimitiveScalesAddsAndTransposes) {
  const std::int64_t m = 21, n = 34, k = 13;
  const std::vector<float> a = random_values(m * k, 1), b = random_values(k * n, 2), c0 = random_values(m * n, 3);
  for (const int mode : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const bool ta = (mode & 1) != 0, tb = (mode & 2) != 0, add = (mode & 4) != 0;
    std::vector<float> c = c0;
    cpu::Multiply args;
    args.a = {a.data(), ta ? m : k, ta};
    args.b = {b.data(), tb ? k : n, tb};
    args.c = c.data();
    args.c_stride = n;
    args.m = m;
    args.n = n;
    args.k = k;
    args.beta = add ? 1.0f : 0.0f;
    for (const float scale : {1.0f, 0.25f}) {  // the second from the cache, with another scale
      c = c0;
      args.scale = scale;
      cpu::multiply_by_primitive(args);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l) {
            sum += static_cast<double>(a[static_cast<std::size_t>(ta ? l * m + i : i * k + l)]) *
                   static_cast<double>(b[static_cast<std::size_t>(tb ? j * k + l : l * n + j)]);
          }
          const auto at = static_cast<std::size_t>(i * n + j);
          const double want = static_cast<double>(scale) * sum + (add ? static_cast<double>(c0[at]) : 0.0);
          ASSERT_NEAR(static_cast<double>(c[at]), want, 2e-5) << "mode " << mode << " scale " << scale;
        }
      }
    }
  }
}

// Runs in full where the processor has bf16 products, and says why where it has not.
TEST(Gemm, Bf16InputGivesTheSameProducts) {
  const cpu::CpuFeatures machine = cpu::read_cpu_features();
  if (!machine.avx512_bf16 && !machine.amx_bf16) GTEST_SKIP() << "no AVX-512 bf16 on this processor";
  cpu::set_gemm_input(cpu::GemmInputChoice::bf16);
  check_all(48, 33, 80);
  check_gemm({3000, 64, 48, false, true, DType::e4m3, DType::e4m3, DType::bf16, 1.0f});
  cpu::set_gemm_input(cpu::GemmInputChoice::automatic);
}

TEST(GemmInput, IsChosenFromVendorAndFeatures) {
  using cpu::CpuVendor, cpu::GemmInput, cpu::GemmInputChoice;
  struct Row {
    CpuVendor vendor;
    bool avx512_bf16, amx;
    GemmInput want;
  };
  const Row rows[] = {
      {CpuVendor::amd, false, false, GemmInput::f32},   {CpuVendor::amd, true, false, GemmInput::bf16},
      {CpuVendor::intel, false, false, GemmInput::f32}, {CpuVendor::intel, true, false, GemmInput::f32},
      {CpuVendor::intel, true, true, GemmInput::bf16},  {CpuVendor::other, false, false, GemmInput::f32},
      {CpuVendor::other, true, false, GemmInput::f32},
  };
  for (const Row& row : rows) {
    const cpu::CpuFeatures cpu{row.vendor, row.avx512_bf16, row.amx};
    EXPECT_EQ(cpu::choose_gemm_input(cpu), row.want);
    EXPECT_EQ(cpu::resolve_gemm_input(GemmInputChoice::automatic, cpu), row.want);
    EXPECT_EQ(cpu::resolve_gemm_input(GemmInputChoice::f32, cpu), GemmInput::f32);
    if (row.avx512_bf16) {
      EXPECT_EQ(cpu::resolve_gemm_input(GemmInputChoice::bf16, cpu), GemmInput::bf16);
    }
  }
}

TEST(GemmInput, WhatTheProcessorHasNotIsAUsageError) {
  try {
    cpu::resolve_gemm_input(cpu::GemmInputChoice::bf16, {cpu::CpuVendor::amd, false, false});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_NE(std::string_view(e.what()).find("cpu.gemm: bf16"), std::string_view::npos) << e.what();
  }
}

TEST(GemmInput, APlanTakesTheSettingWhateverTheProcessorHas) {
  const cpu::CpuFeatures without;
  EXPECT_FALSE(cpu::can_multiply(cpu::GemmInputChoice::bf16, without));
  EXPECT_TRUE(cpu::can_multiply(cpu::GemmInputChoice::f32, without));
  EXPECT_TRUE(cpu::can_multiply(cpu::GemmInputChoice::automatic, without));
  EXPECT_TRUE(cpu::can_multiply(cpu::GemmInputChoice::bf16, {.avx512_bf16 = true}));
  for (const auto& [setting, input] :
       {std::pair{cpu::GemmInputChoice::bf16, cpu::GemmInput::bf16},
        {cpu::GemmInputChoice::f32, cpu::GemmInput::f32},
        {cpu::GemmInputChoice::automatic, cpu::choose_gemm_input(cpu::read_cpu_features())}}) {
    cpu::plan_with_gemm_input(setting);
    EXPECT_EQ(cpu::gemm_input(), input);
  }
}

TEST(GemmInput, TheSettingIsInForceAndDescribed) {
  cpu::set_gemm_input(cpu::GemmInputChoice::f32);
  EXPECT_EQ(cpu::gemm_input(), cpu::GemmInput::f32);
  EXPECT_EQ(cpu::describe_gemm_input(), "f32 (set by cpu.gemm)");
  cpu::set_gemm_input(cpu::GemmInputChoice::automatic);
  EXPECT_EQ(cpu::gemm_input(), cpu::choose_gemm_input(cpu::read_cpu_features()));
  EXPECT_NE(cpu::describe_gemm_input().find("(auto: "), std::string::npos);
}

}  // namespace
}  // namespace octet
