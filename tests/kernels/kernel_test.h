#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/scale_layout.h"
#include "kernels/stats.h"
#include "src/base/random.h"
#include "src/device/device.h"

/// Shared by the tests of the kernels: inputs, memory, errors by norm, finite differences, threads, statistics.
namespace octet::test {

using Storages = testing::Types<float, bf16>;

constexpr float nan_f32 = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity_f32 = std::numeric_limits<float>::infinity();

inline Stream& stream() {
  static const auto instance = cpu_device().make_stream();
  return *instance;
}

/// Normal numbers, the same in every run; `id` tells the tensors of a test apart.
template <typename T = float>
std::vector<T> random_values(std::int64_t n, std::uint32_t id, double scale = 1.0) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = T(static_cast<float>(scale * random_normal({.seed = 7, .stream = id}, i, 4.0)));
  }
  return x;
}

template <typename T>
std::vector<T> stored(const std::vector<float>& x) {
  std::vector<T> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = T(x[i]);
  return y;
}

template <typename T>
std::vector<double> widened(const std::vector<T>& x) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = static_cast<double>(static_cast<float>(x[i]));
  return y;
}

/// Aligned memory for a kernel, filled with NaN so that nothing passes that reads what it did not write.
inline std::shared_ptr<void> make_workspace(std::int64_t bytes) {
  void* memory = cpu_device().allocate(bytes + 64);
  std::memset(memory, 0xFF, static_cast<std::size_t>(bytes + 64));
  return {memory, [bytes](void* p) { cpu_device().deallocate(p, bytes + 64); }};
}

/// The inverse scales of an fp8 GEMM's two operands, where it may read them.
struct GemmScales {
  alignas(gemm_scale_alignment) float a = 1.0f;
  alignas(gemm_scale_alignment) float b = 1.0f;
};

/// ‖got - reference‖₂ / ‖reference‖₂; NaN anywhere gives NaN, which fails every comparison.
template <typename A, typename B>
double relative_error(const std::vector<A>& got, const std::vector<B>& reference) {
  EXPECT_EQ(got.size(), reference.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double r = static_cast<double>(reference[i]), d = static_cast<double>(got[i]) - r;
    difference += d * d;
    norm += r * r;
  }
  return std::sqrt(difference / norm);
}

/// What rounding to the storage type may add to a relative error by norm.
template <typename T>
constexpr double storage_tolerance() {
  return sizeof(T) == 4 ? 5e-7 : 0x1p-8;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Sets the number of OpenMP threads for a scope.
class Threads {
 public:
  explicit Threads(int n) : before_(omp_get_max_threads()) { omp_set_num_threads(n); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// Gradient of loss() in x by central differences, through x itself. loss() runs the kernel in f32, on one thread
/// because so small a kernel spends its time on waking the others.
template <typename Loss>
std::vector<double> central_differences(std::vector<float>& x, float step, Loss loss) {
  const Threads one(1);
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float kept = x[i], above = kept + step, below = kept - step;
    x[i] = above;
    const double up = loss();
    x[i] = below;
    const double down = loss();
    x[i] = kept;
    gradient[i] = (up - down) / (static_cast<double>(above) - static_cast<double>(below));
  }
  return gradient;
}

/// Σ weight·y in double: the loss whose gradient with respect to y is `weight`.
template <typename T>
double weighted_sum(const std::vector<T>& y, const std::vector<float>& weight) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * static_cast<double>(weight[i]);
  return sum;
}

/// f(1), f(2) and f(3), each with that many OpenMP threads, must return the same bits.
template <typename F>
void expect_same_bits_for_any_threads(F f) {
  const auto on = [&f](int n) {
    const Threads threads(n);
    return f();
  };
  const auto one = on(1);
  for (const int n : {2, 3}) EXPECT_TRUE(same_bits(one, on(n))) << n << " threads";
}

/// Asks for statistics and compares them with a slow count over the stored values.
struct StatsProbe {
  float amax = 0.0f;             // raised
  std::uint32_t non_finite = 5;  // added to

  StatsOut out() { return {.amax = &amax, .non_finite = &non_finite}; }

  template <typename T>
  void expect_of(const std::vector<T>& x) const {
    float max = 0;
    std::uint32_t count = 5;
    for (const T& v : x) {
      const float f = static_cast<float>(v);
      if (!std::isfinite(f)) ++count;
      max = std::isnan(f) || std::isnan(max) ? nan_f32 : std::max(max, std::abs(f));
    }
    EXPECT_EQ(non_finite, count);
    if (std::isnan(max)) {
      EXPECT_TRUE(std::isnan(amax)) << amax;
    } else {
      EXPECT_EQ(amax, max);
    }
  }
};

}  // namespace octet::test
