// Products of operands with scales of vectors and blocks, against sums in double and a plain loop of Hopper's rule.
#include <cmath>

#include "tests/kernels/hopper_reference.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using namespace test;

/// Random codes [kept, contracted] as the product sees them, stored so or transposed, with scales of either form.
struct Operand {
  std::int64_t kept, contracted;
  bool turned;  ///< stored with the kept dimension contiguous
  std::vector<std::uint8_t> codes;
  std::shared_ptr<void> scales;
  ScaleForm form;

  Operand(std::int64_t m, std::int64_t k, ScaleForm f, bool stored_turned, std::uint32_t id)
      : kept(m), contracted(k), turned(stored_turned), form(f) {
    for (const float v : random_values(m * k, id, 60.0)) codes.push_back(e4m3(v).bits);
    const std::int64_t count = scale_count(f, m, k);
    scales = make_workspace(4 * count);
    const std::vector<float> s = random_values(count, id + 10);
    for (std::int64_t i = 0; i < count; ++i) inverse()[i] = 0.01f + std::abs(s[static_cast<std::size_t>(i)]);
  }
  float* inverse() const { return static_cast<float*>(scales.get()); }
  std::uint8_t code(std::int64_t i, std::int64_t j) const {
    return codes[static_cast<std::size_t>(turned ? j * kept + i : i * contracted + j)];
  }
  /// Written out here, not taken from scale_index.
  float scale(std::int64_t i, std::int64_t j) const {
    const std::int64_t lines = (contracted / 128 + 3) / 4 * 4;
    return form == ScaleForm::vectors ? inverse()[j / 128 * kept + i] : inverse()[i / 128 * lines + j / 128];
  }
  double value(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(static_cast<float>(e4m3::from_bits(code(i, j)))) * static_cast<double>(scale(i, j));
  }
};

Gemm gemm_of(const Operand& a, const Operand& b) {
  Gemm args;
  args.a = {a.codes.data(), DType::e4m3, a.turned, a.inverse(), a.form};
  args.b = {b.codes.data(), DType::e4m3, !b.turned, b.inverse(), b.form};
  args.m = a.kept;
  args.n = b.kept;
  args.k = a.contracted;
  return args;
}

template <typename C>
std::vector<C> product(Gemm args, std::vector<C> c) {
  args.c = c.data();
  args.c_dtype = dtype_of<C>::value;
  args.workspace_bytes = cpu::gemm_workspace(args);
  const auto workspace = make_workspace(args.workspace_bytes);
  args.workspace = workspace.get();
  cpu::gemm(stream(), args);
  return c;
}

constexpr std::pair<ScaleForm, ScaleForm> forms[] = {{ScaleForm::vectors, ScaleForm::blocks},
                                                     {ScaleForm::blocks, ScaleForm::vectors},
                                                     {ScaleForm::vectors, ScaleForm::vectors}};

void check(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t step = 1,
           const std::vector<int>& turns = {0, 1, 2, 3}) {
  for (const auto& [of_a, of_b] : forms) {
    for (const int turned : turns) {
      SCOPED_TRACE(fmt::format("{} {} {}, {} x {}, turned {}", m, n, k, name_of(of_a), name_of(of_b), turned));
      const Operand a(m, k, of_a, (turned & 1) != 0, 1), b(n, k, of_b, (turned & 2) != 0, 2);
      const auto size = static_cast<std::size_t>(m * n);
      const Gemm args = gemm_of(a, b);
      const std::vector<float> plain = product(args, std::vector<float>(size, NAN));
      Gemm adding = args;
      adding.beta = 1.0f;
      const std::vector<float> added = product(adding, std::vector<float>(size, 1000.0f));
      const std::vector<bf16> rounded = product(args, std::vector<bf16>(size, bf16(NAN)));
      std::vector<double> want, got, got_added, want_added, got_rounded;
      for (std::int64_t at = 0; at < m * n; at += step) {
        const std::int64_t i = at / n, j = at % n;
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a.value(i, l) * b.value(j, l);
        want.push_back(sum);
        want_added.push_back(sum + 1000.0);
        got.push_back(static_cast<double>(plain[static_cast<std::size_t>(at)]));
        got_added.push_back(static_cast<double>(added[static_cast<std::size_t>(at)]));
        got_rounded.push_back(static_cast<double>(static_cast<float>(rounded[static_cast<std::size_t>(at)])));
      }
      EXPECT_LT(relative_error(got, want), 1e-6);
      EXPECT_LT(relative_error(got_added, want_added), 1e-6);
      EXPECT_LT(relative_error(got_rounded, want), 4e-3);
    }
  }
}

TEST(BlockwiseGemm, SumsOfTheValues) {
  check(128, 128, 128);
  check(128, 256, 640, 7);
}

/// Chunks of rows, of columns and of the sum, whose borders are not those of blocks.
TEST(BlockwiseGemm, InSeveralChunks) {
  check(1280, 128, 4096, 4001, {1});
  check(128, 4480, 4096, 20011, {2});
  check(128, 128, 20096, 1013, {0});
}

/// Each block of 128 by the rule of hopper_reference.h, then one fused multiply-add.
TEST(BlockwiseGemm, HoppersSumsArePromotedWithTheScales) {
  constexpr std::int64_t m = 128, n = 256, k = 384;
  for (const auto& [of_a, of_b] : forms) {
    SCOPED_TRACE(fmt::format("{} x {}", name_of(of_a), name_of(of_b)));
    const Operand a(m, k, of_a, false, 3), b(n, k, of_b, true, 4);
    Gemm args = gemm_of(a, b);
    args.emulate_hopper = true;
    const std::vector<float> got = product(args, std::vector<float>(m * n, NAN));
    args.beta = 1.0f;
    const std::vector<float> added = product(args, std::vector<float>(m * n, 3.0f));
    for (std::int64_t i = 0; i < m; i += 3) {
      for (std::int64_t j = 0; j < n; j += 5) {
        float total = 0;
        for (std::int64_t block = 0; block < k; block += 128) {
          std::vector<std::uint8_t> x, y;
          for (std::int64_t l = block; l < block + 128; ++l) x.push_back(a.code(i, l)), y.push_back(b.code(j, l));
          const float scale = a.scale(i, block) * b.scale(j, block);
          total = std::fma(scale, hopper_sum(x, DType::e4m3, y, DType::e4m3, false), total);
        }
        ASSERT_EQ(got[static_cast<std::size_t>(i * n + j)], total) << i << ", " << j;
        ASSERT_EQ(added[static_cast<std::size_t>(i * n + j)], total + 3.0f) << i << ", " << j;
      }
    }
  }
}

/// With unit scales, the promoted sums of the GEMM that has one scale, in several chunks of rows too.
TEST(BlockwiseGemm, HopperWithUnitScalesIsTheSlowSum) {
  constexpr std::int64_t m = 128, n = 128, k = 512;
  Operand a(m, k, ScaleForm::vectors, true, 5), b(n, k, ScaleForm::blocks, false, 6);
  std::fill_n(a.inverse(), scale_count(a.form, m, k), 1.0f);
  std::fill_n(b.inverse(), scale_count(b.form, n, k), 1.0f);
  Gemm args = gemm_of(a, b);
  args.emulate_hopper = true;
  const auto scaled = product(args, std::vector<float>(m * n));
  args.a.scales = args.b.scales = ScaleForm::tensor;
  EXPECT_TRUE(same_bits(scaled, product(args, std::vector<float>(m * n))));
}

TEST(BlockwiseGemm, WhatIsRefused) {
  const Operand a(128, 256, ScaleForm::vectors, false, 1), b(128, 256, ScaleForm::blocks, true, 2);
  const auto refusal = [&](auto change) -> std::string {
    Gemm args = gemm_of(a, b);
    change(args);
    return test::error_or_none([&] { check_operands(args); }, ExitCode::internal);
  };
  EXPECT_EQ(refusal([](Gemm&) {}), "");
  EXPECT_EQ(
      refusal([](Gemm& g) { g.a.scales = ScaleForm::blocks; }),
      "[kernels] gemm of m 128 n 128 k 256, e4m3 of blocks x e4m3 of blocks > f32: scales of blocks on both sides "
      "are what no library multiplies");
  EXPECT_NE(refusal([](Gemm& g) { g.b.scales = ScaleForm::tensor; }).find("go with scales of vectors or blocks"),
            std::string::npos);
  EXPECT_NE(refusal([](Gemm& g) { g.a.scales = ScaleForm::each; }).find("go with scales of vectors or blocks"),
            std::string::npos);
  EXPECT_NE(refusal([](Gemm& g) { g.fast_accumulate = true; }).find("no fast accumulation"), std::string::npos);
  EXPECT_NE(refusal([](Gemm& g) { g.a.inverse_scale = nullptr; }).find("no inverse scales"), std::string::npos);
  EXPECT_NE(refusal([](Gemm& g) { g.a.dtype = g.b.dtype = DType::bf16; }).find("scales are for fp8"),
            std::string::npos);
  for (std::int64_t Gemm::*extent : {&Gemm::m, &Gemm::n, &Gemm::k}) {
    EXPECT_NE(refusal([&](Gemm& g) { g.*extent += 64; }).find("m, n and k are multiples of 128"), std::string::npos);
  }
}

}  // namespace
}  // namespace octet
