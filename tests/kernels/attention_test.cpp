#include <limits>

#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;
using Values = std::vector<double>;

struct Reference {
  Values o, log_sum_exp, dq, dk, dv;
};

/// Attention and its gradients in double, straight from the definition, with the whole score matrix.
/// `begin`: where the document of each token begins, [batch, seq]; none: a row is one document.
Reference reference(const AttentionShape& s, const Values& q, const Values& k, const Values& v, const Values& d_o,
                    const std::vector<std::int32_t>& begin = {}) {
  Reference r{Values(q.size()), Values(static_cast<std::size_t>(s.batch * s.heads * s.seq)), Values(q.size()),
              Values(k.size()), Values(v.size())};
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t heads, std::int64_t h, std::int64_t d) {
    return static_cast<std::size_t>(((b * s.seq + t) * heads + h) * s.head_dim + d);
  };
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t g = h / (s.heads / s.kv_heads);
      for (std::int64_t i = 0; i < s.seq; ++i) {
        Values p(static_cast<std::size_t>(i + 1)), dp(p.size());
        double largest = -std::numeric_limits<double>::infinity(), sum = 0, delta = 0;
        const std::int64_t first = begin.empty() ? 0 : begin[static_cast<std::size_t>(b * s.seq + i)];
        for (std::int64_t j = 0; j < first; ++j)
          p[static_cast<std::size_t>(j)] = -std::numeric_limits<double>::infinity();
        for (std::int64_t j = first; j <= i; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            score += q[at(b, i, s.heads, h, d)] * k[at(b, j, s.kv_heads, g, d)];
          }
          p[static_cast<std::size_t>(j)] = score * static_cast<double>(s.scale);
          largest = std::max(largest, p[static_cast<std::size_t>(j)]);
        }
        for (double& x : p) sum += x = std::exp(x - largest);
        r.log_sum_exp[static_cast<std::size_t>((b * s.heads + h) * s.seq + i)] = largest + std::log(sum);
        for (std::int64_t j = 0; j <= i; ++j) {
          const double pj = p[static_cast<std::size_t>(j)] /= sum;
          double& dpj = dp[static_cast<std::size_t>(j)];
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            r.o[at(b, i, s.heads, h, d)] += pj * v[at(b, j, s.kv_heads, g, d)];
            r.dv[at(b, j, s.kv_heads, g, d)] += pj * d_o[at(b, i, s.heads, h, d)];
            dpj += d_o[at(b, i, s.heads, h, d)] * v[at(b, j, s.kv_heads, g, d)];
          }
          delta += pj * dpj;
        }
        for (std::int64_t j = 0; j <= i; ++j) {
          const auto n = static_cast<std::size_t>(j);
          const double ds = p[n] * (dp[n] - delta) * static_cast<double>(s.scale);
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            r.dq[at(b, i, s.heads, h, d)] += ds * k[at(b, j, s.kv_heads, g, d)];
            r.dk[at(b, j, s.kv_heads, g, d)] += ds * q[at(b, i, s.heads, h, d)];
          }
        }
      }
    }
  }
  return r;
}

template <typename T>
struct Result {
  std::vector<T> o, dq, dk, dv;
  std::vector<float> log_sum_exp;
};

template <typename T>
Result<T> run(AttentionShape s, const std::vector<T>& q, const std::vector<T>& k, const std::vector<T>& v,
              const std::vector<T>& d_o, const std::vector<std::int32_t>& begin = {}) {
  s.dtype = dtype_of<T>::value;
  Result<T> r;
  r.o.resize(q.size());
  r.dq.resize(q.size());
  r.dk.resize(k.size());
  r.dv.resize(k.size());
  r.log_sum_exp.resize(static_cast<std::size_t>(s.batch * s.heads * s.seq));
  AttentionForward forward{s, q.data(), k.data(), v.data(), r.o.data(), r.log_sum_exp.data(), nullptr};
  if (!begin.empty()) forward.documents.begin = begin.data();
  const auto forward_space = make_workspace(cpu::attention_forward_workspace(forward));
  forward.workspace = forward_space.get();
  cpu::attention_forward(stream(), forward);
  AttentionBackward backward{
      s,           q.data(),    k.data(),    v.data(), r.o.data(), d_o.data(), r.log_sum_exp.data(),
      r.dq.data(), r.dk.data(), r.dv.data(), nullptr};
  backward.documents.begin = forward.documents.begin;
  const auto backward_space = make_workspace(cpu::attention_backward_workspace(backward));
  backward.workspace = backward_space.get();
  cpu::attention_backward(stream(), backward);
  return r;
}

AttentionShape shape(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t kv_heads,
                     std::int64_t dim) {
  return {batch, seq, heads, kv_heads, dim, static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim))), DType::f32};
}

template <typename T>
struct Inputs {
  std::vector<T> q, k, v, d_o;
  explicit Inputs(const AttentionShape& s, float deviation = 1.0f) {
    const std::int64_t n = s.batch * s.seq * s.head_dim;
    q = stored<T>(random_values(n * s.heads, 1, deviation));
    k = stored<T>(random_values(n * s.kv_heads, 2, deviation));
    v = stored<T>(random_values(n * s.kv_heads, 3));
    d_o = stored<T>(random_values(n * s.heads, 4));
  }
};

const AttentionShape shapes[] = {
    shape(1, 1, 1, 1, 16),   shape(2, 5, 2, 1, 16),    shape(1, 64, 2, 2, 64),  shape(1, 65, 3, 1, 32),
    shape(2, 127, 4, 2, 64), shape(1, 200, 2, 1, 128), shape(1, 131, 2, 2, 24), shape(1, 193, 6, 2, 80),
};

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
TEST(Attention, Bf16AgreesWithTheDefinitionInDouble) {
  compare_with_reference<bf16>(4e-3, 1.0f);
}

/// The beginnings of documents of these lengths, again and again until the row is full; each row is shifted by one.
std::vector<std::int32_t> documents_of(const AttentionShape& s, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> begin;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    std::size_t next = static_cast<std::size_t>(b);
    for (std::int64_t t = 0; t < s.seq; ++next) {
      const std::int64_t end = std::min(s.seq, t + lengths[next % lengths.size()]), first = t;
      for (; t < end; ++t) begin.push_back(static_cast<std::int32_t>(first));
    }
  }
  return begin;
}

template <typename T>
void compare_documents(double tolerance) {
  const std::vector<std::vector<std::int64_t>> packings = {{1}, {3, 1, 7}, {64}, {63, 65, 1}, {150, 2}, {1, 199}};
  for (const AttentionShape& s : shapes) {
    for (const std::vector<std::int64_t>& lengths : packings) {
      SCOPED_TRACE(testing::Message() << "seq " << s.seq << " heads " << s.heads << "/" << s.kv_heads << " dim "
                                      << s.head_dim << ", first document of " << lengths[0]);
      const Inputs<T> in(s);
      const std::vector<std::int32_t> begin = documents_of(s, lengths);
      const Result<T> got = run(s, in.q, in.k, in.v, in.d_o, begin);
      const Reference want = reference(s, widened(in.q), widened(in.k), widened(in.v), widened(in.d_o), begin);
      EXPECT_LT(relative_error(widened(got.o), want.o), tolerance);
      EXPECT_LT(relative_error(widened(got.dv), want.dv), tolerance);
      for (std::size_t i = 0; i < want.log_sum_exp.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(got.log_sum_exp[i]), want.log_sum_exp[i],
                    2e-6 * (1 + std::abs(want.log_sum_exp[i])));
      }
      if (lengths[0] == 1 || s.seq == 1) continue;  // dq and dk of one key are zero
      EXPECT_LT(relative_error(widened(got.dq), want.dq), 2 * tolerance);
      EXPECT_LT(relative_error(widened(got.dk), want.dk), 2 * tolerance);
    }
  }
}

TEST(Attention, F32StaysWithinItsDocuments) {
  compare_documents<float>(1e-6);
}

TEST(Attention, Bf16StaysWithinItsDocuments) {
  compare_documents<bf16>(4e-3);
}

TEST(Attention, DocumentsOfOneTokenAreTheirValuesAndHaveNoGradientOfTheirScores) {
  const AttentionShape s = shape(1, 130, 2, 2, 32);
  const Inputs<float> in(s);
  const Result<float> got = run(s, in.q, in.k, in.v, in.d_o, documents_of(s, {1}));
  EXPECT_LT(relative_error(widened(got.o), widened(in.v)), 1e-6);
  EXPECT_LT(relative_error(widened(got.dv), widened(in.d_o)), 1e-6);
  for (const float x : got.dq) ASSERT_NEAR(x, 0.0f, 1e-5);
  for (const float x : got.dk) ASSERT_NEAR(x, 0.0f, 1e-5);
}

TEST(Attention, OneDocumentARowHasTheBitsOfNoDocuments) {
  const AttentionShape s = shape(2, 127, 4, 2, 64);
  const Inputs<bf16> in(s);
  const Result<bf16> with = run(s, in.q, in.k, in.v, in.d_o, documents_of(s, {127}));
  const Result<bf16> without = run(s, in.q, in.k, in.v, in.d_o);
  EXPECT_EQ(std::memcmp(with.o.data(), without.o.data(), with.o.size() * 2), 0);
  EXPECT_EQ(std::memcmp(with.dq.data(), without.dq.data(), with.dq.size() * 2), 0);
  EXPECT_EQ(std::memcmp(with.dk.data(), without.dk.data(), with.dk.size() * 2), 0);
  EXPECT_EQ(std::memcmp(with.dv.data(), without.dv.data(), with.dv.size() * 2), 0);
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
  same_bits_for_any_thread_count<bf16>();
}

TEST(Attention, SameBitsForAnyThreadCountWithinDocuments) {
  same_bits_for_any_thread_count<float>({3, 1, 70, 11});
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

TEST(Attention, NanIsNotLost) {
  const AttentionShape s = shape(1, 70, 1, 1, 16);
  Inputs<float> in(s);
  in.q[66 * 16 + 3] = std::numeric_limits<float>::quiet_NaN();
  const Result<float> r = run(s, in.q, in.k, in.v, in.d_o);
  for (std::size_t d = 0; d < 16; ++d) {
    EXPECT_TRUE(std::isnan(r.o[66 * 16 + d]));
    EXPECT_TRUE(std::isnan(r.dq[66 * 16 + d]));
    EXPECT_TRUE(std::isnan(r.dk[0 + d]));
    EXPECT_TRUE(std::isnan(r.dv[0 + d]));
    EXPECT_FALSE(std::isnan(r.o[65 * 16 + d]));
  }
}

}  // namespace
}  // namespace octet
