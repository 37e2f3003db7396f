// A few rows against a weight as it is stored.
#include "kernels/cpu/gemm/few_rows.h"

#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

template <typename T>
struct Few {
  std::int64_t m, n, k;
  std::vector<T> x, w;
  std::vector<float> row_scales, column_scales;
  Gemm args;

  Few(std::int64_t rows, std::int64_t columns, std::int64_t depth, ScaleForm form)
      : m(rows), n(columns), k(depth), x(stored<T>(random_values(m * k, 1))), w(stored<T>(random_values(n * k, 2))) {
    for (std::int64_t i = 0; i < m; ++i) row_scales.push_back(0.5f + 0.25f * static_cast<float>(i));
    for (std::int64_t i = 0; i < n; ++i) column_scales.push_back(1.5f - 0.01f * static_cast<float>(i % 90));
    const bool scaled = sizeof(T) == 1;
    args = {.a = {x.data(), dtype_of<T>::value, false, scaled ? row_scales.data() : nullptr, form},
            .b = {w.data(), dtype_of<T>::value, true, scaled ? column_scales.data() : nullptr, form},
            .m = m,
            .n = n,
            .k = k};
  }

  template <typename C>
  std::vector<C> run(float beta) {
    std::vector<C> y = stored<C>(random_values(m * n, 3));
    args.c = y.data();
    args.c_dtype = dtype_of<C>::value;
    args.beta = beta;
    args.workspace_bytes = cpu::gemm_workspace(args);
    const auto workspace = make_workspace(args.workspace_bytes);
    args.workspace = workspace.get();
    cpu::gemm(stream(), args);
    return y;
  }

  template <typename C>
  std::vector<double> reference(float beta) const {
    std::vector<double> y = widened(stored<C>(random_values(m * n, 3)));
    const auto a = widened(x), b = widened(w);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t d = 0; d < k; ++d) sum += a[std::size_t(i * k + d)] * b[std::size_t(j * k + d)];
        if (sizeof(T) == 1) {
          const bool each = args.a.scales == ScaleForm::each;
          sum *= double{row_scales[std::size_t(each ? i : 0)]} * double{column_scales[std::size_t(each ? j : 0)]};
        }
        double& to = y[std::size_t(i * n + j)];
        to = sum + static_cast<double>(beta) * to;
      }
    }
    return y;
  }
};

template <typename T>
void compare(ScaleForm form) {
  for (const std::int64_t m : {1, 2, 3, 4}) {
    for (const auto& [n, k] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 15}, {9, 16}, {130, 700}, {260, 1031}}) {
      SCOPED_TRACE(testing::Message() << name_of(dtype_of<T>::value) << " m " << m << " n " << n << " k " << k);
      Few<T> few(m, n, k, form);
      ASSERT_TRUE(cpu::is_few_rows(few.args));
      for (const float beta : {0.0f, 1.0f}) {
        EXPECT_LT(relative_error(few.template run<float>(beta), few.template reference<float>(beta)), 1e-6);
        EXPECT_LT(relative_error(widened(few.template run<bf16>(beta)), few.template reference<bf16>(beta)), 0x1p-8);
      }
    }
  }
}

TEST(FewRows, AgreeWithTheDefinitionInDouble) {
  compare<float>(ScaleForm::tensor);
  compare<bf16>(ScaleForm::tensor);
}

TEST(FewRows, OfFloat8AreScaledByTensorAndByRow) {
  compare<e4m3>(ScaleForm::tensor);
  compare<e4m3>(ScaleForm::each);
  compare<e5m2>(ScaleForm::tensor);
}

/// Every code of a weight, one at a time: among whole vectors, and behind them. Infinities and NaNs too.
template <typename T>
void expect_every_code() {
  for (const std::size_t place : {0, 17, 31, 38}) {
    Few<T> few(1, 256, 39, ScaleForm::tensor);
    for (std::size_t i = 0; i < few.x.size(); ++i) few.x[i] = T(i == place ? 1.0f : 0.0f);
    few.w.assign(few.w.size(), T(1.0f));
    for (std::size_t c = 0; c < 256; ++c) few.w[c * 39 + place] = T::from_bits(static_cast<std::uint8_t>(c));
    const std::vector<float> y = few.template run<float>(0);
    for (std::size_t c = 0; c < 256; ++c) {
      const auto value = static_cast<float>(few.w[c * 39 + place]) * few.row_scales[0] * few.column_scales[0];
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(y[c])) << c << " at " << place;
      } else {
        EXPECT_EQ(y[c], value) << c << " at " << place;
      }
    }
  }
}

TEST(FewRows, KnowEveryCode) {
  expect_every_code<e4m3>();
  expect_every_code<e5m2>();
}

TEST(FewRows, ARowHasTheSameBitsAloneAndForAnyThreads) {
  Few<bf16> four(4, 260, 1031, ScaleForm::tensor), one(1, 260, 1031, ScaleForm::tensor);
  const std::vector<float> all = four.run<float>(0), first = one.run<float>(0);
  EXPECT_TRUE(same_bits(first, std::vector<float>(all.begin(), all.begin() + 260)));
  expect_same_bits_for_any_threads([&] { return four.run<float>(0); });
}

TEST(FewRows, AreNoMoreThanFourOfAWeightAsStored) {
  Few<float> few(4, 8, 8, ScaleForm::tensor);
  EXPECT_TRUE(cpu::is_few_rows(few.args));
  few.args.m = 5;
  EXPECT_FALSE(cpu::is_few_rows(few.args));
  few.args.m = 1;
  few.args.b.transposed = false;
  EXPECT_FALSE(cpu::is_few_rows(few.args));
  Few<e4m3> emulated(1, 8, 8, ScaleForm::tensor);
  emulated.args.emulate_hopper = true;
  EXPECT_FALSE(cpu::is_few_rows(emulated.args));
}

/// A plan that has room for the whole chunks of some rows has it for what remains of them.
TEST(FewRows, NeedNoMoreWorkspaceThanManyRows) {
  const auto workspace = [](Few<bf16> few, std::int64_t rows) {
    few.args.m = rows;
    return cpu::gemm_workspace(few.args);
  };
  const Few<bf16> few(8, 48, 96, ScaleForm::tensor);
  EXPECT_GT(workspace(few, 4), 0);
  for (const std::int64_t rows : {1, 2, 3, 4}) {
    for (const std::int64_t many : {5, 16, 300}) EXPECT_LE(workspace(few, rows), workspace(few, many)) << rows << many;
  }
}

}  // namespace
}  // namespace octet
