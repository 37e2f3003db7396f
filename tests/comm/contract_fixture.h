#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/communicator.h"

/// The contract of communicator.h: a program that includes this instantiates Contract with its backends, and is run at
/// 1, 2, 3, 4 and 8 ranks.
namespace octet {
namespace {

struct Backend {
  const char* name;
  std::unique_ptr<Communicator> (*make)(Stream&);
  bool in_rank_order = true;  ///< sums are; else within what any order of fp32 additions gives
};

class Contract : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> comm_ = GetParam().make(*stream_);
  const int rank_ = comm_->rank();
  const int size_ = comm_->size();
  /// For reductions: `counts` and one that takes three steps of scratch (2 MiB over the peers).
  const std::vector<std::int64_t> reduced_{0, 1, 3, 70'001, 1'200'003 / std::max(size_ - 1, 1)};

  /// Of all ranks' awkward(rank, begin + i).
  testing::AssertionResult is_sum(const float* found, std::int64_t begin, std::int64_t n) const;
};

constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::e4m3, DType::e5m2, DType::i32, DType::u8};
/// None, one, odd, and above MPI's eager limit.
constexpr std::int64_t counts[] = {0, 1, 3, 70'001};

using Bytes = std::vector<std::uint8_t>;

/// Bytes that differ by sender, receiver and place.
Bytes pattern(int from, int to, std::int64_t bytes) {
  Bytes b(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(from) * 101 + static_cast<std::size_t>(to) * 37 + i * 7 +
                                     i / 251);
  }
  return b;
}

void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Element i of a rank's floats: of all signs and of magnitudes from 2^-20 to 2^43, so that sums depend on the order.
float awkward(int rank, std::int64_t i) {
  std::uint64_t bits =
      static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(rank + 1) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 29)) * 0x94D049BB133111EBu;
  bits ^= bits >> 32;
  const float mantissa = static_cast<float>(bits & 0xFFFFFF) - 8388608.0f;
  return mantissa * std::bit_cast<float>(static_cast<std::uint32_t>(107 + (bits >> 24) % 40) << 23);
}

/// Elements [begin, begin + n).
std::vector<float> awkward(int rank, std::int64_t begin, std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = awkward(rank, begin + static_cast<std::int64_t>(i));
  return x;
}

/// The definition: a loop over ranks in their order.
std::vector<float> summed_in_rank_order(int ranks, std::int64_t begin, std::int64_t n) {
  std::vector<float> sum = awkward(0, begin, n);
  for (int r = 1; r < ranks; ++r) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + awkward(r, begin + static_cast<std::int64_t>(i));
  }
  return sum;
}

bool same_bits(const std::vector<float>& a, const float* b) {
  return a.empty() || std::memcmp(a.data(), b, a.size() * sizeof(float)) == 0;
}

testing::AssertionResult Contract::is_sum(const float* found, std::int64_t begin, std::int64_t n) const {
  const std::vector<float> expected = summed_in_rank_order(size_, begin, n);
  if (same_bits(expected, found)) return testing::AssertionSuccess();
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0, magnitudes = 0;
    for (int r = 0; r < size_; ++r) {
      sum += double{awkward(r, begin + i)};
      magnitudes += std::abs(double{awkward(r, begin + i)});
    }
    const double tolerance = GetParam().in_rank_order ? 0.0 : 0x1p-24 * size_ * magnitudes;
    if (std::abs(double{found[i]} - sum) <= tolerance) continue;
    return testing::AssertionFailure() << "element " << i << ": " << found[i] << ", sum of the ranks " << sum;
  }
  return GetParam().in_rank_order ? testing::AssertionFailure() << "not in the order of ranks"
                                  : testing::AssertionSuccess();
}

}  // namespace
}  // namespace octet
