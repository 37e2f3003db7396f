#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/base/random.h"
#include "src/tensor/tensor.h"

/// Numbers for tests: reproducible random ones, double-precision products, comparisons.
namespace octet::test {

/// Normal numbers, the same in every run and on every rank; `id` tells the tensors of a test apart.
template <typename T = float>
std::vector<T> random_values(std::int64_t n, std::uint32_t id, double scale = 1.0) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = T(static_cast<float>(scale * random_normal({.seed = 11, .stream = id}, i, 4.0)));
  }
  return x;
}

/// A view of a vector of a storage type.
template <typename T>
Tensor view(const std::vector<T>& x, Shape shape) {
  return {const_cast<T*>(x.data()), dtype_of<T>::value, shape, nullptr};
}

template <typename T>
std::vector<double> doubles(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

/// Aᵀ of a row-major [rows, columns] matrix.
inline std::vector<double> transposed(const std::vector<double>& a, std::int64_t rows, std::int64_t columns) {
  std::vector<double> t(a.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      t[static_cast<std::size_t>(c * rows + r)] = a[static_cast<std::size_t>(r * columns + c)];
    }
  }
  return t;
}

/// A [m, k] · B [k, n].
inline std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m,
                                   std::int64_t k, std::int64_t n) {
  std::vector<double> c(static_cast<std::size_t>(m * n), 0.0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < n; ++j) {
        c[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
      }
    }
  }
  return c;
}

/// ‖a - reference‖₂ / ‖reference‖₂, ‖a‖₂ when the reference is zero, infinity for unequal lengths; NaN anywhere gives
/// NaN, which fails every comparison.
template <typename A, typename B>
double distance(const std::vector<A>& a, const std::vector<B>& reference) {
  if (a.size() != reference.size()) return HUGE_VAL;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(reference[i]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace octet::test
