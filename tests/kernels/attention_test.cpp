#include <limits>

#include "tests/kernels/attention_reference.h"

namespace octet {
namespace {

using namespace test;
using namespace test::attention;

struct AttentionInBf16 : WayOfBf16 {};
INSTANTIATE_TEST_SUITE_P(Ways, AttentionInBf16, both_ways(), name_of_way);

template <typename T>
void compare_with_reference(double tolerance, float deviation) {
  for (const AttentionShape& s : shapes) {
    SCOPED_TRACE(testing::Message() << "batch " << s.batch << " seq " << s.seq << " heads " << s.heads << "/"
                                    << s.kv_heads << " dim " << s.head_dim);
    const Inputs<T> in(s, deviation);
    const Result<T> got = run(s, in.q, in.k, in.v, in.d_o);
    const Reference want = reference(s, widened(in.q), widened(in.k), widened(in.v), widened(in.d_o));
    EXPECT_LT(relative_error(widened(got.o), want.o), tolerance);
    EXPECT_LT(relative_error(widened(got.dv), want.dv), tolerance);
    for (std::size_t i = 0; i < want.log_sum_exp.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(got.log_sum_exp[i]), want.log_sum_exp[i],
                  2e-6 * (1 + std::abs(want.log_sum_exp[i])));
    }
    if (s.seq == 1) continue;  // dq and dk of one key are zero
    EXPECT_LT(relative_error(widened(got.dq), want.dq), 2 * tolerance);
    EXPECT_LT(relative_error(widened(got.dk), want.dk), 2 * tolerance);
  }
}

TEST(Attention, F32AgreesWithTheDefinitionInDouble) {
  compare_with_reference<float>(1e-6, 1.0f);
}

TEST(Attention, F32WithLargeScoresAgreesWithTheDefinitionInDouble) {
  compare_with_reference<float>(2e-5, 4.0f);
}

// Outputs are rounded to bf16 (2^-9 relative), and the backward's delta comes from the rounded output.
TEST_P(AttentionInBf16, AgreesWithTheDefinitionInDouble) {
  compare_with_reference<bf16>(4e-3, 1.0f);
}

TEST(Attention, GradientsAreFiniteDifferencesOfTheDefinition) {
  const AttentionShape s = shape(1, 70, 2, 1, 16);
  const Inputs<float> in(s);
  const Result<float> got = run(s, in.q, in.k, in.v, in.d_o);
  const Values d_o = widened(in.d_o);
  const auto loss = [&](const Values& q, const Values& k, const Values& v) {
    const Reference r = reference(s, q, k, v, d_o);
    double sum = 0;
    for (std::size_t i = 0; i < r.o.size(); ++i) sum += r.o[i] * d_o[i];
    return sum;
  };
  const auto check = [&](int which, const std::vector<float>& gradient) {
    for (std::size_t i = 3; i < gradient.size(); i += gradient.size() / 12) {
      double side[2];
      for (const int sign : {0, 1}) {
        Values x[3] = {widened(in.q), widened(in.k), widened(in.v)};
        x[which][i] += sign == 1 ? 1e-4 : -1e-4;
        side[sign] = loss(x[0], x[1], x[2]);
      }
      EXPECT_NEAR(static_cast<double>(gradient[i]), (side[1] - side[0]) / 2e-4, 1e-5)
          << "input " << which << " at " << i;
    }
  };
  check(0, got.dq);
  check(1, got.dk);
  check(2, got.dv);
}

TEST(Attention, OneKeyIsCopiedAndEqualKeysAreAveraged) {
  AttentionShape s = shape(1, 4, 1, 1, 16);
  const std::vector<float> zero(64, 0.0f);
  std::vector<float> v(64);
  for (std::size_t row = 0; row < 4; ++row)
    std::fill_n(v.begin() + static_cast<std::ptrdiff_t>(16 * row), 16, 12.0f * static_cast<float>(row));
  const Result<float> r = run(s, zero, zero, v, zero);
  const float means[] = {0, 6, 12, 18};
  for (std::size_t i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(r.o[i], means[i / 16]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(r.log_sum_exp[i], std::log(static_cast<double>(i + 1)), 1e-6);
}

template <typename T>
void same_bits_for_any_thread_count(const std::vector<std::int64_t>& documents = {}) {
  const AttentionShape s = shape(1, 150, 3, 1, 32);
  const Inputs<T> in(s);
  const std::vector<std::int32_t> begin = documents.empty() ? std::vector<std::int32_t>() : documents_of(s, documents);
  const auto with = [&](int n) {
    const Threads threads(n);
    return run(s, in.q, in.k, in.v, in.d_o, begin);
  };
  const Result<T> one = with(1);
  for (const int n : {2, 3}) {
    const Result<T> many = with(n);
    EXPECT_TRUE(same_bits(many.o, one.o));
    EXPECT_TRUE(same_bits(many.log_sum_exp, one.log_sum_exp));
    EXPECT_TRUE(same_bits(many.dq, one.dq));
    EXPECT_TRUE(same_bits(many.dk, one.dk));
    EXPECT_TRUE(same_bits(many.dv, one.dv));
  }
}

TEST(Attention, SameBitsForAnyThreadCount) {
  same_bits_for_any_thread_count<float>();
}

TEST_P(AttentionInBf16, SameBitsForAnyThreadCount) {
  same_bits_for_any_thread_count<bf16>();
}

TEST(Attention, SameBitsForAnyThreadCountWithinDocuments) {
  same_bits_for_any_thread_count<float>({3, 1, 70, 11});
}

TEST_P(AttentionInBf16, SameBitsForAnyThreadCountWithinDocuments) {
  same_bits_for_any_thread_count<bf16>({3, 1, 70, 11});
}

TEST(Attention, TheFutureHasNoInfluence) {
  const AttentionShape s = shape(1, 130, 2, 1, 32);
  Inputs<float> in(s);
  const Result<float> before = run(s, in.q, in.k, in.v, in.d_o);
  const auto row = static_cast<std::size_t>(s.head_dim);
  for (std::size_t i = 100 * row; i < in.k.size(); ++i) in.k[i] = in.v[i] = 7.0f;
  const Result<float> after = run(s, in.q, in.k, in.v, in.d_o);
  const auto past = static_cast<std::ptrdiff_t>(100 * 2 * row);
  EXPECT_TRUE(same_bits(std::vector<float>(before.o.begin(), before.o.begin() + past),
                        std::vector<float>(after.o.begin(), after.o.begin() + past)));
  EXPECT_FALSE(same_bits(before.o, after.o));
}

TEST(Attention, TooLongAHeadIsAnError) {
  AttentionForward args;
  args.shape = shape(1, 8, 1, 1, 320);
  EXPECT_THROW(cpu::attention_forward_workspace(args), Error);
}

template <typename T>
void expect_nan_is_not_lost() {
  const AttentionShape s = shape(1, 70, 1, 1, 16);
  Inputs<T> in(s);
  in.q[66 * 16 + 3] = T(std::numeric_limits<float>::quiet_NaN());
  const Result<T> r = run(s, in.q, in.k, in.v, in.d_o);
  for (std::size_t d = 0; d < 16; ++d) {
    EXPECT_TRUE(std::isnan(r.o[66 * 16 + d]));
    EXPECT_TRUE(std::isnan(r.dq[66 * 16 + d]));
    EXPECT_TRUE(std::isnan(r.dk[0 + d]));
    EXPECT_TRUE(std::isnan(r.dv[0 + d]));
    EXPECT_FALSE(std::isnan(r.o[65 * 16 + d]));
  }
}

TEST(Attention, NanIsNotLost) {
  expect_nan_is_not_lost<float>();
}

TEST_P(AttentionInBf16, NanIsNotLost) {
  expect_nan_is_not_lost<bf16>();
}

}  // namespace
}  // namespace octet
