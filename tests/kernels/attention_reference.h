#pragma once

#include <limits>

#include "kernels/cpu/gemm/gemm_input.h"
#include "tests/kernels/kernel_test.h"

/// Attention from its definition, and runs of the CPU's kernels to hold against it.
namespace octet::test::attention {

using Values = std::vector<double>;

struct Reference {
  Values o, log_sum_exp, dq, dk, dv;
};

/// Attention and its gradients in double, straight from the definition, with the whole score matrix.
/// `begin`: where the document of each token begins, [batch, seq]; none: a row is one document.
inline Reference reference(const AttentionShape& s, const Values& q, const Values& k, const Values& v,
                           const Values& d_o, const std::vector<std::int32_t>& begin = {}) {
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

/// Tests in one of the two ways to multiply bf16 (cpu.gemm): by fp32's tiles, or by oneDNN where the processor can.
class WayOfBf16 : public testing::TestWithParam<cpu::GemmInputChoice> {
 protected:
  void SetUp() override {
    const cpu::CpuFeatures machine = cpu::read_cpu_features();
    if (GetParam() == cpu::GemmInputChoice::bf16 && !machine.avx512_bf16 && !machine.amx_bf16) {
      GTEST_SKIP() << "no AVX-512 bf16 on this processor";
    }
    cpu::set_gemm_input(GetParam());
  }
  void TearDown() override { cpu::set_gemm_input(cpu::GemmInputChoice::automatic); }
};

inline auto both_ways() {
  return testing::Values(cpu::GemmInputChoice::f32, cpu::GemmInputChoice::bf16);
}
inline std::string name_of_way(const testing::TestParamInfo<cpu::GemmInputChoice>& way) {
  return std::string(name_of(way.param));
}

inline AttentionShape shape(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t kv_heads,
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

inline const AttentionShape shapes[] = {
    shape(1, 1, 1, 1, 16),   shape(2, 5, 2, 1, 16),    shape(1, 64, 2, 2, 64),  shape(1, 65, 3, 1, 32),
    shape(2, 127, 4, 2, 64), shape(1, 200, 2, 1, 128), shape(1, 131, 2, 2, 24), shape(1, 193, 6, 2, 80),
};

/// The beginnings of documents of these lengths, again and again until the row is full; each row is shifted by one.
inline std::vector<std::int32_t> documents_of(const AttentionShape& s, const std::vector<std::int64_t>& lengths) {
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

}  // namespace octet::test::attention
