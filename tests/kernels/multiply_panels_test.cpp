// Weights packed by panels, for models that only evaluate.
#include "kernels/cpu/multiply_panels.h"

#include <omp.h>

#include <array>

#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

/// A product whose three matrices have more columns than it uses.
struct Panels {
  std::int64_t m, n, k, apart = 3;
  std::vector<float> a = random_values(m * (k + apart), 1), b = random_values(n * (k + apart), 2);

  std::vector<float> run(float beta, std::vector<float> c) const {
    cpu::Multiply args;
    args.a = {a.data(), k + apart, false};
    args.b = {b.data(), k + apart, true};
    args.c = c.data();
    args.c_stride = n + apart;
    args.m = m;
    args.n = n;
    args.k = k;
    args.beta = beta;
    EXPECT_TRUE(cpu::could_be_panels(args));
    cpu::multiply_panels(args);
    return c;
  }
};

TEST(Panels, AgreeWithTheDefinitionInDoubleAndWriteNothingElse) {
  for (const std::int64_t m : {1, 2, 5, 6, 19}) {
    for (const auto& [n, k] : std::array<std::pair<std::int64_t, std::int64_t>, 6>{
             {{1, 1}, {7, 9}, {16, 8}, {33, 513}, {128, 1030}, {300, 100}}}) {
      for (const std::int64_t apart : {0, 3}) {
        for (const float beta : {0.0f, 1.0f}) {
          SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " beta " << beta << " " << apart);
          const Panels panels{m, n, k, apart};
          const std::vector<float> before = random_values(m * (n + apart), 3);
          std::vector<float> c = before;
          for (std::int64_t i = 0; beta == 0.0f && i < m; ++i) {  // must not be read
            for (std::int64_t j = 0; j < n; ++j) c[std::size_t(i * (n + apart) + j)] = NAN;
          }
          c = panels.run(beta, c);
          std::vector<double> got, want;
          for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < n + apart; ++j) {
              const auto at = std::size_t(i * (n + apart) + j);
              if (j >= n) {
                ASSERT_EQ(c[at], before[at]) << i << " " << j;
                continue;
              }
              double sum = double{beta} * double{before[at]};
              for (std::int64_t d = 0; d < k; ++d) {
                sum += double{panels.a[std::size_t(i * (k + apart) + d)]} *
                       double{panels.b[std::size_t(j * (k + apart) + d)]};
              }
              got.push_back(double{c[at]});
              want.push_back(sum);
            }
          }
          EXPECT_LT(relative_error(got, want), 1e-6);
        }
      }
    }
  }
}

TEST(Panels, BitsDoNotDependOnThreadsNorOnWhereTheResultLies) {
  const int threads = omp_get_max_threads();
  const Panels panels{11, 272, 700, 0}, apart{11, 272, 700, 3};
  const std::vector<float> nothing(std::size_t(11 * 275));
  omp_set_num_threads(1);
  const std::vector<float> one = panels.run(0.0f, nothing);
  omp_set_num_threads(3);
  const std::vector<float> three = panels.run(0.0f, nothing);
  omp_set_num_threads(threads);
  EXPECT_EQ(one, three);

  Panels same = apart;  // rows of C have no whole vectors
  for (std::int64_t d = 0; d < 700; ++d) {
    for (std::int64_t i = 0; i < 11; ++i) same.a[std::size_t(i * 703 + d)] = panels.a[std::size_t(i * 700 + d)];
    for (std::int64_t j = 0; j < 272; ++j) same.b[std::size_t(j * 703 + d)] = panels.b[std::size_t(j * 700 + d)];
  }
  const std::vector<float> moved = same.run(0.0f, nothing);
  for (std::int64_t i = 0; i < 11; ++i) {
    for (std::int64_t j = 0; j < 272; ++j) ASSERT_EQ(moved[std::size_t(i * 275 + j)], one[std::size_t(i * 272 + j)]);
  }
}

TEST(Panels, AreForWeightsAsTheyAreStoredInFp32) {
  cpu::Multiply args;
  args.b.transposed = true;
  EXPECT_TRUE(cpu::could_be_panels(args));
  args.a.transposed = true;
  EXPECT_FALSE(cpu::could_be_panels(args));
  args.a.transposed = args.b.transposed = false;
  EXPECT_FALSE(cpu::could_be_panels(args));
  args.b.transposed = true;
  args.input = DType::bf16;
  EXPECT_FALSE(cpu::could_be_panels(args));
}

TEST(Panels, AreNotFasterWhereThereIsAvx512) {
  EXPECT_FALSE(cpu::panels_are_faster({.avx512 = true}));
  const cpu::CpuFeatures machine = cpu::read_cpu_features();
  EXPECT_TRUE(machine.avx512 || !machine.avx512_bf16) << "AVX-512 bf16 without AVX-512";
}

}  // namespace
}  // namespace octet
