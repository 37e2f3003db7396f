#include "src/data/sampler.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <span>

#include "tests/data/support.h"

namespace octet {
namespace {

using test::error_of;
using test::TempFolder;

struct Weighed {
  std::string name;
  std::int64_t windows;
  double weight;
};

/// The order of a new run, or of one that began with an earlier version, with the weights of every source in one stage.
SampleOrder order_of(const std::vector<Weighed>& sources, double fraction, std::uint64_t seed,
                     std::int64_t version = newest_data_order) {
  std::vector<SampleOrder::Source> described;
  DataStage stage;
  for (const Weighed& source : sources) {
    described.push_back({source.name, source.windows});
    stage.weights.push_back(source.weight);
  }
  return {described, SourceTurns(version, std::span(&stage, 1), 1), fraction, seed};
}

std::set<std::int64_t> validation_windows(const WindowSplit& split) {
  std::set<std::int64_t> windows;
  for (std::int64_t i = 0; i < split.validation(); ++i) windows.insert(split.validation_window(i));
  return windows;
}

TEST(WindowSplit, PartitionsTheWindows) {
  for (const std::int64_t windows : {2, 3, 10, 97, 1000, 4096}) {
    for (const double fraction : {0.0, 0.001, 0.1, 0.4}) {
      const WindowSplit split("x", windows, fraction);
      std::set<std::int64_t> all = validation_windows(split);
      EXPECT_EQ(static_cast<std::int64_t>(all.size()), split.validation());
      EXPECT_EQ(split.validation() > 0, fraction > 0);
      for (std::int64_t i = 0; i < split.train(); ++i) all.insert(split.train_window(i));
      EXPECT_EQ(static_cast<std::int64_t>(all.size()), windows);
      EXPECT_EQ(*all.begin(), 0);
      EXPECT_EQ(*all.rbegin(), windows - 1);
    }
  }
  EXPECT_EQ(WindowSplit("x", 1000, 0.05).validation(), 50);
}

TEST(WindowSplit, ALargerFractionOnlyAddsWindows) {
  const auto small = validation_windows(WindowSplit("x", 1000, 0.02));
  const auto large = validation_windows(WindowSplit("x", 1000, 0.1));
  EXPECT_TRUE(std::ranges::includes(large, small));
}

TEST(WindowSplit, RefusesToLeaveNothingToTrainOn) {
  EXPECT_HAS(error_of([] { WindowSplit split("x.bin", 1, 0.01); }), "x.bin: 1 of its 1 samples go to validation");
  EXPECT_EQ(WindowSplit("x", 1, 0).train(), 1);
}

TEST(SampleOrder, EveryEpochHasEveryTrainingWindowOnceAndNoValidationWindow) {
  const SampleOrder order = order_of({{"a", 103, 1.0}}, 0.1, 7);
  const auto apart = validation_windows(order.split(0));
  const std::int64_t train = order.split(0).train();
  std::vector<std::vector<std::int64_t>> epochs;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    std::vector<std::int64_t> windows;
    for (std::int64_t i = 0; i < train; ++i) {
      const Sample sample = order.train_sample(epoch * train + i);
      EXPECT_EQ(sample.epoch, epoch);
      EXPECT_FALSE(apart.contains(sample.window));
      windows.push_back(sample.window);
    }
    EXPECT_EQ(static_cast<std::int64_t>(std::set(windows.begin(), windows.end()).size()), train);
    EXPECT_FALSE(std::ranges::is_sorted(windows));
    for (const auto& earlier : epochs) EXPECT_NE(windows, earlier);
    epochs.push_back(windows);
  }
}

TEST(SampleOrder, SourcesOfAMixtureKeepTheirEpochs) {
  const SampleOrder order = order_of({{"a", 50, 3.0}, {"b", 20, 1.0}}, 0.0, 1);
  std::map<std::pair<std::int32_t, std::int64_t>, std::vector<std::int64_t>> epochs;
  for (std::int64_t g = 0; g < 1000; ++g) {
    const Sample sample = order.train_sample(g);
    epochs[{sample.source, sample.epoch}].push_back(sample.window);
  }
  int whole = 0;
  for (auto& [which, windows] : epochs) {
    std::ranges::sort(windows);
    EXPECT_TRUE(std::ranges::adjacent_find(windows) == windows.end());
    whole += static_cast<std::int64_t>(windows.size()) == (which.first == 0 ? 50 : 20) ? 1 : 0;
  }
  EXPECT_EQ(whole, 15 + 12);  // 750 samples of a, 250 of b
}

TEST(SampleOrder, TheSeedChangesTheOrderAndNotTheSplit) {
  const SampleOrder a = order_of({{"a", 500, 1.0}}, 0.1, 1), b = order_of({{"a", 500, 1.0}}, 0.1, 2);
  EXPECT_EQ(validation_windows(a.split(0)), validation_windows(b.split(0)));
  int same = 0;
  for (std::int64_t g = 0; g < 450; ++g) same += a.train_sample(g).window == b.train_sample(g).window ? 1 : 0;
  EXPECT_LT(same, 20);
  for (std::int64_t v = 0; v < a.validation_samples(); ++v)
    EXPECT_EQ(a.validation_sample(v).window, b.validation_sample(v).window);
}

TEST(SampleOrder, ValidationCoversEverySourceOnceInMixedOrder) {
  const SampleOrder order = order_of({{"a", 400, 1.0}, {"b", 100, 1.0}, {"c", 10, 1.0}}, 0.1, 1);
  ASSERT_EQ(order.validation_samples(), 40 + 10 + 1);
  std::set<std::pair<std::int32_t, std::int64_t>> seen;
  std::set<std::int32_t> early;
  for (std::int64_t v = 0; v < 51; ++v) {
    const Sample sample = order.validation_sample(v);
    EXPECT_TRUE(validation_windows(order.split(sample.source)).contains(sample.window));
    seen.insert({sample.source, sample.window});
    if (v < 25) early.insert(sample.source);
  }
  EXPECT_EQ(seen.size(), 51u);
  EXPECT_GE(early.size(), 2u);
}

TEST(SampleOrder, WorksBeyondThirtyTwoBits) {
  const std::int64_t windows = (std::int64_t{1} << 40) + 15;
  const SampleOrder order = order_of({{"a", windows, 1.0}, {"b", 3, 0.001}}, 0.25, 1);
  EXPECT_EQ(order.split(0).validation(), (windows + 2) / 4);
  std::set<std::int64_t> seen;
  for (const std::int64_t base : {std::int64_t{0}, std::int64_t{1} << 33, std::int64_t{1} << 55}) {
    for (std::int64_t i = 0; i < 500; ++i) {
      const Sample sample = order.train_sample(base + i);
      ASSERT_GE(sample.window, 0);
      ASSERT_LT(sample.window, sample.source == 0 ? windows : 3);
      if (sample.source != 0 || sample.epoch != 0) continue;
      EXPECT_TRUE(seen.insert(sample.window).second);
    }
  }
  EXPECT_GT(*seen.rbegin(), std::int64_t{1} << 32);
}

// The file format of data order: these values may never change, or resumed runs would read other data.
TEST(SampleOrder, KeepsItsValues) {
  const auto values = [](std::int64_t version) {
    const SampleOrder order = order_of({{"a", 100, 2.0}, {"b", 50, 1.0}}, 0.1, 42, version);
    EXPECT_EQ(order.validation_sample(0).window, 25);
    std::vector<std::pair<std::int32_t, std::int64_t>> first;
    for (std::int64_t g = 0; g < 6; ++g) first.emplace_back(order.train_sample(g).source, order.train_sample(g).window);
    return first;
  };
  using Values = std::vector<std::pair<std::int32_t, std::int64_t>>;
  EXPECT_EQ(values(1), (Values{{1, 9}, {0, 37}, {0, 51}, {1, 41}, {0, 54}, {0, 2}}));
  EXPECT_EQ(values(2), (Values{{0, 37}, {1, 9}, {0, 51}, {0, 54}, {1, 41}, {0, 2}}));
}

// ---- batches

class SamplerTest : public testing::Test {
 protected:
  static constexpr std::int64_t seq_len = 8;
  /// Token i has id i, so that every batch can be traced to its window.
  std::string file(const std::string& name, std::int64_t tokens, std::int32_t offset = 0) {
    test::write_tokens(folder_ / name, tokens, TokenType::i32, [&](std::int64_t i) { return i + offset; });
    return folder_ / name;
  }
  static SamplerConfig config(std::int64_t global_batch, double fraction = 0.1, std::uint64_t seed = 5) {
    return {.seq_len = seq_len,
            .global_batch = global_batch,
            .vocab_size = 1 << 20,
            .seed = seed,
            .validation_fraction = fraction};
  }
  TempFolder folder_;
};

/// tokens and targets of all rows of a global batch, in the order of samples.
using Rows = std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>>;

Rows global_rows(const Sampler& sampler, std::int64_t step, std::int64_t ranks, std::int64_t micro_batch, bool train) {
  Rows rows;
  Batch batch;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const BatchLayout layout{rank, ranks, micro_batch};
    for (std::int64_t m = 0; m < sampler.micro_batches(layout); ++m) {
      if (train) {
        sampler.train_batch(step, layout, m, batch);
      } else {
        sampler.validation_batch(step, layout, m, batch);
      }
      EXPECT_EQ(batch.micro_batch, micro_batch);
      for (std::int64_t row = 0; row < micro_batch; ++row) {
        const auto cut = [&](const std::vector<std::int32_t>& from) {
          return std::vector(from.begin() + row * batch.seq_len, from.begin() + (row + 1) * batch.seq_len);
        };
        rows.emplace_back(cut(batch.tokens), cut(batch.targets));
      }
    }
  }
  return rows;
}

TEST_F(SamplerTest, ARowIsAWindowAndItsTargetsAreTheNextTokens) {
  const Sampler sampler({{file("a", 100 * seq_len + 1), 1.0}}, config(4));
  for (const auto& [tokens, targets] : global_rows(sampler, 3, 1, 2, true)) {
    EXPECT_EQ(tokens[0] % seq_len, 0);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(tokens[i], tokens[0] + static_cast<std::int32_t>(i));
      EXPECT_EQ(targets[i], tokens[i] + 1);
    }
  }
  EXPECT_EQ(sampler.order().split(0).train() + sampler.order().split(0).validation(), 100);
}

TEST_F(SamplerTest, EveryLayoutSeesTheSameGlobalBatches) {
  const Sampler sampler({{file("a", 900), 2.0}, {file("b", 500, 1000), 1.0}}, config(12));
  for (std::int64_t step = 0; step < 30; ++step) {
    const Rows one = global_rows(sampler, step, 1, 12, true);
    ASSERT_EQ(one.size(), 12u);
    for (const std::int64_t ranks : {1, 2, 3, 4, 6}) {
      for (const std::int64_t micro_batch : {1, 2, 3}) {
        if (12 % (ranks * micro_batch) != 0) continue;
        EXPECT_EQ(global_rows(sampler, step, ranks, micro_batch, true), one) << ranks << " ranks";
      }
    }
  }
}

TEST_F(SamplerTest, AStepDoesNotDependOnWhatWasReadBefore) {
  const std::string path = file("a", 1000);
  const Sampler one({{path, 1.0}}, config(4)), other({{path, 1.0}}, config(4));
  const Rows late = global_rows(one, 1000, 2, 1, true);
  for (std::int64_t step = 0; step < 20; ++step) global_rows(other, step, 2, 1, true);
  EXPECT_EQ(global_rows(other, 1000, 2, 1, true), late);
  EXPECT_NE(global_rows(other, 1001, 2, 1, true), late);
  EXPECT_NE(global_rows(Sampler({{path, 1.0}}, config(4, 0.1, 6)), 1000, 2, 1, true), late);
}

TEST_F(SamplerTest, TheLastValidationBatchIsPaddedWithoutTargets) {
  const Sampler sampler({{file("a", 100 * seq_len + 1), 1.0}}, config(6, 0.1));  // 10 validation samples
  ASSERT_EQ(sampler.validation_batches(), 2);
  EXPECT_EQ(sampler.validation_targets(1), 6 * seq_len);
  EXPECT_EQ(sampler.validation_targets(2), 10 * seq_len);
  EXPECT_EQ(sampler.validation_targets(9), 10 * seq_len);
  std::set<std::int32_t> beginnings;
  std::int64_t targets = 0;
  for (std::int64_t index = 0; index < 2; ++index) {
    const Rows rows = global_rows(sampler, index, 1, 6, false);
    for (const std::int64_t ranks : {2, 3, 6}) EXPECT_EQ(global_rows(sampler, index, ranks, 1, false), rows);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto valid = std::ranges::count_if(rows[row].second, [](std::int32_t id) { return id != -1; });
      EXPECT_EQ(valid, index == 0 || row < 4 ? seq_len : 0);
      targets += valid;
      if (valid > 0) beginnings.insert(rows[row].first[0]);
      if (valid > 0) continue;
      EXPECT_EQ(rows[row].first, std::vector<std::int32_t>(seq_len, 0));
    }
  }
  EXPECT_EQ(targets, sampler.validation_targets(2));
  EXPECT_EQ(beginnings.size(), 10u);
}

TEST_F(SamplerTest, ValidationTargetsAreNeverTrainingTargets) {
  const Sampler sampler({{file("a", 50 * seq_len + 3), 1.0}}, config(5, 0.2));
  std::set<std::int32_t> trained;
  for (std::int64_t step = 0; step < 24; ++step) {  // three epochs of 40
    for (const auto& row : global_rows(sampler, step, 1, 5, true)) trained.insert(row.second.begin(), row.second.end());
  }
  EXPECT_EQ(trained.size(), 40u * seq_len);
  for (std::int64_t index = 0; index < sampler.validation_batches(); ++index) {
    for (const auto& row : global_rows(sampler, index, 1, 5, false)) {
      for (const std::int32_t id : row.second) EXPECT_FALSE(trained.contains(id));
    }
  }
}

TEST_F(SamplerTest, RefusesDataThatIsTooSmallWithTheNumbers) {
  const std::string tiny = file("tiny", seq_len), small = file("small", 10 * seq_len + 1);
  const auto make = [&](const std::string& path, const SamplerConfig& c) {
    return error_of([&] { Sampler sampler({{path, 1.0}}, c); });
  };
  EXPECT_HAS(make(tiny, config(1)), "8 tokens are fewer than one sample; train.seq_len 8 needs at least 9");
  EXPECT_HAS(make(small, config(10)), "81 tokens give 9 training samples of train.seq_len 8 (and 1 for validation)");
  EXPECT_HAS(make(small, config(10)), "fewer than the 10 that one batch of train.global_batch 10");
  EXPECT_NO_THROW(Sampler({{small, 1.0}}, config(9)));
  EXPECT_NO_THROW(Sampler({{small, 1.0}}, config(10, 0.0)));
  EXPECT_HAS(make(small, config(1, 0.99)), "leaves none to train on");
  EXPECT_HAS(make(small, config(1, 1.0)), "data.validation_fraction is 1; expected 0 <= fraction < 1");
  EXPECT_HAS(make(small, config(1, -0.1)), "data.validation_fraction is -0.1");
  EXPECT_HAS(make(small, config(0)), "train.global_batch is 0");
  EXPECT_HAS(make(folder_ / "missing", config(1)), "cannot open");
  EXPECT_HAS(error_of([&] { Sampler sampler({}, config(1)); }), "data.train is empty");
  // In a mixture each source must hold its own share: half of 24 is more than the 9 that are there.
  const std::string large = file("large", 1000);
  EXPECT_HAS(error_of([&] { Sampler sampler({{large, 1.0}, {small, 1.0}}, config(24)); }), "fewer than the 12");
}

TEST_F(SamplerTest, RefusesValidationWithoutASplitAndLayoutsThatDoNotDivide) {
  const Sampler sampler({{file("a", 1000), 1.0}}, config(12, 0.0));
  EXPECT_HAS(error_of([&] { sampler.validation_batches(); }), "data.validation_fraction 0 sets no sample apart");
  Batch batch;
  EXPECT_HAS(error_of([&] {
               sampler.train_batch(0, {0, 5, 1}, 0, batch);
             }),
             "train.global_batch 12 is not a multiple of data-parallel ranks 5 times train.micro_batch 1");
  EXPECT_HAS(error_of([&] { sampler.micro_batches({0, 2, 4}); }), "ranks 2 times train.micro_batch 4");
  EXPECT_HAS(error_of([&] { sampler.train_batch(0, {3, 3, 4}, 0, batch); }, ExitCode::internal), "rank 3 of 3");
}

TEST_F(SamplerTest, RefusesTokensAboveTheVocabulary) {
  SamplerConfig c = config(2, 0.0);
  c.vocab_size = 100;
  const Sampler sampler({{file("a", 400), 1.0}}, c);
  Batch batch;
  EXPECT_HAS(error_of([&] {
               for (std::int64_t step = 0; step < 24; ++step) sampler.train_batch(step, {0, 1, 2}, 0, batch);
             }),
             "is not below vocab_size 100");
}

TEST_F(SamplerTest, FingerprintSeesWhatDecidesTheOrder) {
  const std::string a = file("a", 1000), b = file("b", 1000, 1);
  const auto base = Sampler({{a, 1.0}}, config(4)).fingerprint();
  EXPECT_EQ(Sampler({{a, 2.0}}, config(4)).fingerprint(), base);  // one source: its weight does not matter
  EXPECT_NE(Sampler({{b, 1.0}}, config(4)).fingerprint(), base);
  EXPECT_NE(Sampler({{a, 1.0}}, config(2)).fingerprint(), base);
  EXPECT_NE(Sampler({{a, 1.0}}, config(4, 0.2)).fingerprint(), base);
  EXPECT_NE(Sampler({{a, 1.0}}, config(4, 0.1, 6)).fingerprint(), base);
  const Sampler both({{a, 1.0}, {b, 1.0}}, config(4));
  EXPECT_NE(both.fingerprint(), Sampler({{b, 1.0}, {a, 1.0}}, config(4)).fingerprint());
  EXPECT_NE(both.fingerprint(), Sampler({{a, 2.0}, {b, 1.0}}, config(4)).fingerprint());
  EXPECT_EQ(both.fingerprint(), Sampler({{a, 5.0}, {b, 5.0}}, config(4)).fingerprint());
  SamplerConfig changed = config(4), old = config(4), added = config(4);
  changed.changes = {{9, {1.0, 3.0}}};
  old.history.order = 1;
  added.history.added = {{1, 7}};
  for (const SamplerConfig& other : {changed, old, added}) {
    const Sampler sampler({{a, 1.0}, {b, 1.0}}, other);
    EXPECT_NE(sampler.fingerprint(), both.fingerprint());
    EXPECT_EQ(both.fingerprint_of(sampler.data()), sampler.fingerprint()) << "the same files";
  }
  EXPECT_EQ(both.fingerprint_of({.train = {{"moved", 1.0}}}), base) << "of the first source alone";
}

TEST_F(SamplerTest, TheFingerprintOfVersion1IsThatOfEarlierCheckpoints) {
  SamplerConfig old = config(4);
  old.history.order = 1;
  const Sampler sampler({{file("a", 1000), 2.0}, {file("b", 1000, 1), 1.0}}, old);
  std::vector<std::uint64_t> parts = {seq_len, 4, 5, std::bit_cast<std::uint64_t>(0.1)};
  for (const TokenFile& of : sampler.files()) parts.push_back(of.fingerprint());
  parts.insert(parts.end(), {43691, 21845});  // samples of a period of 65,536
  // XXH3-64, as of a tokenizer's file.
  EXPECT_EQ(sampler.fingerprint(),
            tokenizer_fingerprint({reinterpret_cast<const char*>(parts.data()), parts.size() * sizeof parts[0]}));
}

TEST_F(SamplerTest, GoesOnWithTheHistoryOfARun) {
  const std::string a = file("a", 1000), b = file("b", 1000, 2000);
  Sampler goes_on({{a, 1.0}, {b, 1.0}}, config(4));
  const Rows alone = global_rows(Sampler({{a, 1.0}}, config(4)), 6, 1, 4, true);
  EXPECT_NE(global_rows(goes_on, 6, 1, 4, true), alone);
  goes_on.go_on_with({.added = {{1, 7}}});
  EXPECT_EQ(global_rows(goes_on, 6, 1, 4, true), alone) << "step 7 is before the source came";
  const Rows later = global_rows(goes_on, 7, 1, 4, true);
  EXPECT_EQ(std::ranges::count_if(later, [](const auto& row) { return row.first[0] >= 2000; }), 2);
}

}  // namespace
}  // namespace octet
