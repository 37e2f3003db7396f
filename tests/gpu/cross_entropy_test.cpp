#include <limits>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Case {
  std::int64_t rows, vocab;
  std::int64_t offset = 0;  ///< of the logits and of d_logits, in elements
};

const Case cases[] = {{1, 1},     {3, 5},     {7, 256},    {65, 257},      {9, 1000},  {4, 2048}, {5, 256, 1},
                      {3, 16384}, {3, 50304}, {2, 128256}, {2, 128256, 1}, {2, 20003}, {0, 256},  {3, 2052, 2}};

class GpuCrossEntropy : public GpuTest {
 protected:
  std::vector<std::int32_t> targets_for(const Case& c) {
    std::vector<std::int32_t> targets(static_cast<std::size_t>(c.rows));
    for (std::int64_t i = 0; i < c.rows; ++i) {  // the first and the last of the vocabulary among them; none in row 2
      targets[static_cast<std::size_t>(i)] =
          i == 2 ? -100 : static_cast<std::int32_t>(i == 0 ? c.vocab - 1 : (i - 1) * 7919 % c.vocab);
    }
    return targets;
  }

  template <typename T>
  void compare(const Case& c, std::vector<float> values, bool in_place) {
    Both<float> logits(*gpu_stream, std::move(values));
    Both<std::int32_t> targets(*gpu_stream, targets_for(c));
    auto losses = Both<float>::output(*gpu_stream, c.rows);
    auto d_logits = Both<T>::output(*gpu_stream, c.rows * c.vocab + c.offset);
    CrossEntropy a{.logits = logits.cpu() + c.offset,
                   .targets = targets.cpu(),
                   .losses = losses.cpu(),
                   .d_logits = in_place ? static_cast<void*>(logits.cpu() + c.offset) : d_logits.cpu() + c.offset,
                   .d_dtype = dtype_of<T>::value,
                   .rows = c.rows,
                   .vocab = c.vocab,
                   .scale = 0.37f};
    CrossEntropy b = a;
    b.logits = logits.gpu() + c.offset;
    b.targets = targets.gpu();
    b.losses = losses.gpu();
    b.d_logits = in_place ? static_cast<void*>(logits.gpu() + c.offset) : d_logits.gpu() + c.offset;
    cpu.cross_entropy(*cpu_stream, a);
    gpu().cross_entropy(*gpu_stream, b);
    expect_close(losses, 1e-6, "losses");
    if (in_place) {
      expect_close(logits, 3e-6, "gradient in place");
    } else {
      expect_same_bits(logits, "logits");
      expect_close(d_logits, sizeof(T) == 4 ? 3e-6 : 1e-3, "gradient");
    }
    auto alone = Both<float>::output(*gpu_stream, c.rows);
    if (in_place) return;
    a.d_logits = b.d_logits = nullptr;
    a.losses = alone.cpu();
    b.losses = alone.gpu();
    cpu.cross_entropy(*cpu_stream, a);
    gpu().cross_entropy(*gpu_stream, b);
    expect_close(alone, 1e-6, "losses alone");
  }
};

TEST_F(GpuCrossEntropy, AsOnTheCpu) {
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} x {}, offset {}", c.rows, c.vocab, c.offset));
    const auto logits = normal<float>(c.rows * c.vocab + c.offset, 1, 4.0);
    compare<float>(c, logits, false);
    compare<float>(c, logits, true);
    compare<bf16>(c, logits, false);
  }
}

/// Logits that are large, rise along the row (each step a new maximum), or are masked by -infinity.
TEST_F(GpuCrossEntropy, ExtremeLogits) {
  const Case c{5, 3000};
  std::vector<float> logits(static_cast<std::size_t>(c.rows * c.vocab));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto column = static_cast<float>(i % 3000);
    const float rows[] = {column * 30.0f, -column * 1e35f, 0.0f, i % 3000 < 2990 ? -infinity : column, -1e4f};
    logits[i] = rows[i / 3000];
  }
  logits[3 * 3000 + 7919 * 2 % 3000] = 1.0f;  // row 3's target
  compare<float>(c, logits, false);
  compare<float>(c, logits, true);
  compare<bf16>(c, logits, false);
}

TEST_F(GpuCrossEntropy, NonFiniteLogitsShow) {
  const Case c{4, 2048};
  auto logits = normal<float>(c.rows * c.vocab, 3);
  logits[5] = std::numeric_limits<float>::quiet_NaN();
  logits[2048 + 2047] = infinity;
  std::fill(logits.begin() + 3 * 2048, logits.end(), -infinity);
  compare<float>(c, logits, false);
}

}  // namespace
}  // namespace octet::gpu_test
