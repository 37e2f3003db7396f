#include <limits>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct LossCase {
  std::int64_t rows, vocab;
  std::int64_t offset = 0;  ///< of the logits and of d_logits, in elements
};

/// The last one has more rows than an H100 has clusters of blocks.
const LossCase loss_cases[] = {{1, 1},         {3, 5},      {7, 256},   {65, 257},    {9, 1000},
                               {4, 2048},      {5, 256, 1}, {3, 16384}, {3, 50304},   {2, 128256},
                               {2, 128256, 1}, {2, 20003},  {0, 256},   {3, 2052, 2}, {300, 16388}};

class GpuCrossEntropy : public GpuTest {
 protected:
  std::vector<std::int32_t> targets_for(const LossCase& c) {
    std::vector<std::int32_t> targets(static_cast<std::size_t>(c.rows));
    for (std::int64_t i = 0; i < c.rows;
         ++i) {  // the first and the last of the vocabulary among them; none in rows 2 and 4
      targets[static_cast<std::size_t>(i)] =
          i == 2   ? -100
          : i == 4 ? -1
                   : static_cast<std::int32_t>(i == 0 ? c.vocab - 1 : (i - 1) * 7919 % c.vocab);
    }
    return targets;
  }

  template <typename T>
  void compare(const LossCase& c, std::vector<float> values, bool in_place) {
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

/// The two halves over parts of `counts` columns, each part with a copy of its own columns on both devices.
class GpuCrossEntropyParts : public GpuCrossEntropy {
 protected:
  std::vector<float> columns(const LossCase& c, const std::vector<float>& values, std::int64_t begin,
                             std::int64_t count) {
    std::vector<float> part;
    for (std::int64_t row = 0; row < c.rows; ++row) {
      const auto first = values.begin() + row * c.vocab + begin;
      part.insert(part.end(), first, first + count);
    }
    return part;
  }

  void stats(Both<float>& logits, Both<std::int32_t>& targets, Both<float>& all, CrossEntropyStats args,
             std::int64_t part) {
    const std::int64_t at = part * 3 * args.rows;
    args.logits = logits.cpu();
    args.targets = targets.cpu();
    args.stats = all.cpu() + at;
    cpu.cross_entropy_stats(*cpu_stream, args);
    args.logits = logits.gpu();
    args.targets = targets.gpu();
    args.stats = all.gpu() + at;
    gpu().cross_entropy_stats(*gpu_stream, args);
  }

  /// `d`: where the gradient goes, or null.
  template <typename T>
  void finish(Both<float>& logits, Both<std::int32_t>& targets, Both<float>& all, Both<float>& losses, Both<T>* d,
              CrossEntropyFinish args) {
    args.logits = logits.cpu();
    args.targets = targets.cpu();
    args.stats = all.cpu();
    args.losses = losses.cpu();
    args.d_logits = d == nullptr ? nullptr : d->cpu();
    args.d_dtype = dtype_of<T>::value;
    cpu.cross_entropy_finish(*cpu_stream, args);
    args.logits = logits.gpu();
    args.targets = targets.gpu();
    args.stats = all.gpu();
    args.losses = losses.gpu();
    args.d_logits = d == nullptr ? nullptr : d->gpu();
    gpu().cross_entropy_finish(*gpu_stream, args);
  }

  template <typename T>
  void compare_parts(const LossCase& c, const std::vector<float>& values, const std::vector<std::int64_t>& counts) {
    SCOPED_TRACE(fmt::format("{} x {} in {} parts", c.rows, c.vocab, counts.size()));
    std::vector<std::int32_t> chosen = targets_for(c);
    if (counts.size() > 1) chosen.front() = static_cast<std::int32_t>(counts.front());  // the second part's first
    Both<std::int32_t> targets(*gpu_stream, chosen);
    const auto parts = static_cast<std::int64_t>(counts.size());
    auto all = Both<float>::output(*gpu_stream, parts * 3 * c.rows);
    std::int64_t begin = 0;
    for (std::int64_t p = 0; p < parts; begin += counts[static_cast<std::size_t>(p++)]) {
      const std::int64_t count = counts[static_cast<std::size_t>(p)];
      Both<float> logits(*gpu_stream, columns(c, values, begin, count));
      stats(logits, targets, all, {.vocab_begin = begin, .rows = c.rows, .vocab = count}, p);
      expect_same_bits(logits, "logits");
    }
    expect_close(all, 1e-6, "stats");
    begin = 0;
    for (const std::int64_t count : counts) {
      Both<float> logits(*gpu_stream, columns(c, values, begin, count));
      auto losses = Both<float>::output(*gpu_stream, c.rows);
      auto d = Both<T>::output(*gpu_stream, c.rows * count);
      const CrossEntropyFinish args{
          .vocab_begin = begin, .rows = c.rows, .vocab = count, .parts = static_cast<int>(parts), .scale = 0.37f};
      finish(logits, targets, all, losses, &d, args);
      expect_close(losses, 1e-6, "losses");
      expect_close(d, sizeof(T) == 4 ? 3e-6 : 1e-3, "gradient");
      finish<float>(logits, targets, all, losses, &logits, args);
      expect_close(logits, 3e-6, "gradient in place");
      auto alone = Both<float>::output(*gpu_stream, c.rows);
      finish<T>(logits, targets, all, alone, nullptr, args);
      EXPECT_EQ(std::memcmp(alone.download().data(), losses.download().data(), losses.host().size() * 4), 0);
      begin += count;
    }
  }

  /// What both devices' halves make of one part, against their whole.
  void one_part(const LossCase& c, const std::vector<float>& values) {
    Both<float> logits(*gpu_stream, values);
    Both<std::int32_t> targets(*gpu_stream, targets_for(c));
    auto all = Both<float>::output(*gpu_stream, 3 * c.rows), losses = Both<float>::output(*gpu_stream, c.rows);
    auto whole = Both<float>::output(*gpu_stream, c.rows);
    auto d = Both<float>::output(*gpu_stream, c.rows * c.vocab), d_whole = d.output(*gpu_stream, c.rows * c.vocab);
    stats(logits, targets, all, {.rows = c.rows, .vocab = c.vocab}, 0);
    finish(logits, targets, all, losses, &d, {.rows = c.rows, .vocab = c.vocab, .scale = 0.37f});
    gpu().cross_entropy(*gpu_stream, {.logits = logits.gpu(),
                                      .targets = targets.gpu(),
                                      .losses = whole.gpu(),
                                      .d_logits = d_whole.gpu(),
                                      .rows = c.rows,
                                      .vocab = c.vocab,
                                      .scale = 0.37f});
    EXPECT_EQ(std::memcmp(losses.download().data(), whole.download().data(), whole.host().size() * 4), 0);
    EXPECT_EQ(std::memcmp(d.download().data(), d_whole.download().data(), d.host().size() * 4), 0);
  }
};

TEST_F(GpuCrossEntropyParts, AsOnTheCpu) {
  for (const auto& [c, counts] : {std::pair<LossCase, std::vector<std::int64_t>>{{7, 37}, {20, 17}},
                                  {{9, 40}, {1, 0, 30, 9}},
                                  {{5, 256}, {64, 64, 64, 64}},
                                  {{3, 50304}, {25152, 25152}},
                                  {{2, 128256}, {32064, 32064, 32064, 32064}}}) {
    const auto logits = normal<float>(c.rows * c.vocab, 1, 4.0);
    compare_parts<float>(c, logits, counts);
    compare_parts<bf16>(c, logits, counts);
  }
}

TEST_F(GpuCrossEntropyParts, OnePartHasTheBitsOfTheWhole) {
  for (const LossCase& c : {LossCase{1, 1}, {7, 37}, {65, 256}, {4, 2048}, {2, 20003}, {2, 128256}, {20, 16388}}) {
    SCOPED_TRACE(fmt::format("{} x {}", c.rows, c.vocab));
    one_part(c, normal<float>(c.rows * c.vocab, 1, 4.0));
  }
}

/// A part of -infinity throughout beside others, NaN, and infinity.
TEST_F(GpuCrossEntropyParts, ExtremeLogits) {
  const LossCase c{4, 3000};
  auto logits = normal<float>(c.rows * c.vocab, 3, 50.0);
  for (std::int64_t row = 0; row < c.rows; ++row) {
    std::fill_n(logits.begin() + row * c.vocab + 1500, 1500, -infinity);
  }
  logits[1504 + 100] = 1.0f;
  compare_parts<float>(c, logits, {1500, 1500});
  logits[static_cast<std::size_t>(c.vocab) + 5] = std::numeric_limits<float>::quiet_NaN();
  logits[static_cast<std::size_t>(c.vocab) * 3 + 5] = infinity;
  compare_parts<float>(c, logits, {1500, 1500});
}

TEST_F(GpuCrossEntropy, AsOnTheCpu) {
  for (const LossCase& c : loss_cases) {
    SCOPED_TRACE(fmt::format("{} x {}, offset {}", c.rows, c.vocab, c.offset));
    const auto logits = normal<float>(c.rows * c.vocab + c.offset, 1, 4.0);
    compare<float>(c, logits, false);
    compare<float>(c, logits, true);
    compare<bf16>(c, logits, false);
  }
}

/// Logits that are large, rise along the row (each step a new maximum), or are masked by -infinity.
TEST_F(GpuCrossEntropy, ExtremeLogits) {
  const LossCase c{5, 3000};
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
  for (const std::int64_t vocab : {2048, 16384}) {
    const LossCase c{4, vocab};
    auto logits = normal<float>(c.rows * vocab, 3);
    logits[5] = std::numeric_limits<float>::quiet_NaN();
    logits[static_cast<std::size_t>(2 * vocab - 1)] = infinity;
    std::fill(logits.begin() + 3 * vocab, logits.end(), -infinity);
    compare<float>(c, logits, false);
  }
}

}  // namespace
}  // namespace octet::gpu_test
