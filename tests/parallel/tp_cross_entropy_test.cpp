// Cross-entropy over the columns of all ranks of a tensor-parallel group, against one rank that has the whole rows.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/cpu_kernels.h"
#include "src/ops/cross_entropy.h"
#include "src/parallel/tp_exchange.h"
#include "tests/gpu/distance.h"
#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

using gpu_test::distance;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

class TpCrossEntropy : public test::ParallelTest {
 protected:
  static constexpr std::int64_t rows = 9, columns = 5;  // of a rank
  const std::int64_t vocab = columns * ranks_;

  struct Result {
    std::vector<float> losses, gradient;
  };

  std::vector<float> logits() const { return test::random_values(rows * vocab, 1, 3.0); }
  /// The first and the last id among them; none in row 2.
  std::vector<std::int32_t> targets() const {
    std::vector<std::int32_t> t;
    for (std::int64_t row = 0; row < rows; ++row) {
      t.push_back(row == 2 ? -1 : static_cast<std::int32_t>((row + vocab - 1) % vocab));
    }
    return t;
  }

  Result of_whole_rows(const std::vector<float>& x) const {
    Result r{std::vector<float>(rows, nan), std::vector<float>(x.size(), nan)};
    cpu::cross_entropy(*stream_, {.logits = x.data(),
                                  .targets = targets().data(),
                                  .losses = r.losses.data(),
                                  .d_logits = r.gradient.data(),
                                  .rows = rows,
                                  .vocab = vocab,
                                  .scale = 0.37f});
    r.gradient = own_columns(r.gradient);
    return r;
  }

  Result of_parts(const std::vector<float>& x) const {
    Arena scratch(cpu_device(), 1 << 20, Purpose::workspace, "scratch");
    TpExchange exchange(*world_);
    OpContext op{*stream_, kernels_, scratch, exchange};
    const std::vector<float> part = own_columns(x);
    Result r{std::vector<float>(rows, nan), std::vector<float>(part.size(), nan)};
    const auto matrix = [&](const std::vector<float>& m) { return test::view(m, {rows, columns}); };
    cross_entropy(op, matrix(part), targets().data(), r.losses.data(), matrix(r.gradient), 0.37f);
    EXPECT_EQ(scratch.mark(), 0) << "scratch was kept";
    return r;
  }

  void compare(const std::vector<float>& x, const std::string& what) const {
    const Result whole = of_whole_rows(x), part = of_parts(x);
    EXPECT_LE(distance(part.losses, whole.losses), 1e-6) << what;
    EXPECT_LE(distance(part.gradient, whole.gradient), 1e-6) << what;
    std::vector<float> all(static_cast<std::size_t>(rows * ranks_));
    world_->all_gather(part.losses.data(), all.data(), rows, DType::f32);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(all[i]), std::bit_cast<std::uint32_t>(part.losses[i % rows]))
          << what << ": the ranks' losses differ";
    }
  }

  /// The columns of rank `of` in every row.
  void fill(std::vector<float>& x, int of, float value) const {
    for (std::int64_t row = 0; row < rows; ++row) std::fill_n(x.begin() + row * vocab + of * columns, columns, value);
  }

 private:
  std::vector<float> own_columns(const std::vector<float>& x) const {
    std::vector<float> part;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto first = x.begin() + row * vocab + rank_ * columns;
      part.insert(part.end(), first, first + columns);
    }
    return part;
  }
};

TEST_F(TpCrossEntropy, PartsGiveTheLossesAndGradientsOfWholeRows) {
  compare(logits(), "random logits");
}

/// As a vocabulary that is padded to a multiple of the ranks: what is masked adds nothing, wherever it lies.
TEST_F(TpCrossEntropy, APartThatIsMaskedThroughoutIsExact) {
  for (int masked = 0; masked < ranks_; ++masked) {
    auto x = logits();
    fill(x, masked, -infinity);
    compare(x, "the part of rank " + std::to_string(masked) + " masked");
    if (ranks_ == 1) continue;
    const Result r = of_parts(x);
    for (std::size_t i = 0; i < r.gradient.size(); ++i) EXPECT_TRUE(std::isfinite(r.gradient[i])) << i;
    const std::vector<std::int32_t> all = targets();
    for (std::size_t row = 0; row < all.size(); ++row) {
      EXPECT_EQ(std::isinf(r.losses[row]), all[row] >= 0 && all[row] / columns == masked) << row;
    }
  }
  auto x = logits();
  for (int masked = 1; masked < ranks_; ++masked) fill(x, masked, -infinity);
  compare(x, "all parts but the first masked");
}

TEST_F(TpCrossEntropy, ExtremeLogitsInAnyPart) {
  for (const float value : {3e38f, -3e38f, 1e4f, infinity, nan}) {
    for (int owner = 0; owner < ranks_; ++owner) {
      auto x = logits();
      x[static_cast<std::size_t>(owner * columns + 1)] = value;
      compare(x, fmt::format("{} of rank {}", value, owner));
      fill(x, owner, value);
      compare(x, fmt::format("all {} of rank {}", value, owner));
    }
  }
  compare(std::vector<float>(static_cast<std::size_t>(rows * vocab), -infinity), "nothing but -inf");
}

}  // namespace
}  // namespace octet
