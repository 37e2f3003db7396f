#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"

/// Small helpers of the kernel tests: a stream, typed vectors, relative distances, thread counts.
namespace octet::test {

inline Stream& stream() {
  static const std::unique_ptr<Stream> made = cpu_device().make_stream();
  return *made;
}

/// Values rounded to a storage type.
template <typename T>
std::vector<T> stored(const std::vector<float>& x) {
  std::vector<T> y;
  y.reserve(x.size());
  for (const float v : x) y.push_back(static_cast<T>(v));
  return y;
}

template <typename T>
std::vector<double> widened(const std::vector<T>& x) {
  std::vector<double> y;
  y.reserve(x.size());
  for (const T v : x) y.push_back(static_cast<double>(static_cast<float>(v)));
  return y;
}

inline std::vector<float> random_values(std::int64_t n, unsigned seed, float deviation = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}

/// ‖x - y‖ / ‖y‖.
inline double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    difference += (x.at(i) - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference / norm);
}

template <typename T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// Aligned memory for a kernel, filled with NaN so that nothing passes that reads what it did not write.
inline std::shared_ptr<void> make_workspace(std::int64_t bytes) {
  void* memory = cpu_device().allocate(bytes + 64);
  std::memset(memory, 0xFF, static_cast<std::size_t>(bytes + 64));
  return {memory, [bytes](void* p) { cpu_device().deallocate(p, bytes + 64); }};
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

}  // namespace octet::test
