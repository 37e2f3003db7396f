#include "src/data/source_turns.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/data/sample_order.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using Stages = std::vector<DataStage>;

/// Three sources over four stages: one leaves and comes back, one comes late.
Stages some_stages() {
  return {{1, {2, 1, 0}}, {4, {0, 1, 3}}, {5, {0.5, 0, 1}}, {40, {1, 5, 1}}};
}
constexpr std::int64_t batch = 10;

TEST(SourceTurns, CountUpInEverySourceAcrossAllStages) {
  for (const std::int64_t version : {1, 2}) {
    const Stages stages = some_stages();
    const SourceTurns turns(version, stages, batch);
    std::vector<std::int64_t> had(3, 0);
    for (std::int64_t sample = 0; sample < 800; ++sample) {
      ASSERT_EQ(turns.taken(sample), had) << sample;
      const auto [source, number] = turns.turn(sample);
      ASSERT_EQ(number, had[static_cast<std::size_t>(source)]) << sample;
      ++had[static_cast<std::size_t>(source)];
      const auto stage = std::ranges::find_if(stages.rbegin(), stages.rend(),
                                              [&](const DataStage& s) { return (s.step - 1) * batch <= sample; });
      EXPECT_GT(stage->weights[static_cast<std::size_t>(source)], 0) << sample;
    }
    EXPECT_EQ(had[0] + had[1] + had[2], 800);
  }
}

TEST(SourceTurns, HoldTheSharesOfEachStage) {
  const SourceTurns turns(2, some_stages(), batch);
  const auto of_steps = [&](std::int64_t first, std::int64_t last) {
    auto taken = turns.taken(last * batch);
    const auto before = turns.taken((first - 1) * batch);
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] -= before[i];
    return taken;
  };
  EXPECT_EQ(of_steps(1, 3), (std::vector<std::int64_t>{20, 10, 0}));
  EXPECT_EQ(of_steps(5, 34), (std::vector<std::int64_t>{100, 0, 200}));
  EXPECT_EQ(of_steps(40, 40 + 69), (std::vector<std::int64_t>{100, 500, 100}));
  EXPECT_DOUBLE_EQ(turns.largest_share(1), 5.0 / 7);
}

TEST(SourceTurns, WhatIsToComeChangesNothingThatIsPast) {
  Stages fewer = some_stages();
  fewer.pop_back();
  const SourceTurns all(2, some_stages(), batch), without(2, fewer, batch);
  const auto same = [&](std::int64_t sample) {
    const auto a = all.turn(sample), b = without.turn(sample);
    return a.source == b.source && a.number == b.number;
  };
  for (std::int64_t sample = 0; sample < 39 * batch; ++sample) ASSERT_TRUE(same(sample)) << sample;
  int different = 0;
  for (std::int64_t sample = 39 * batch; sample < 50 * batch; ++sample) different += same(sample) ? 0 : 1;
  EXPECT_GT(different, 50);
  EXPECT_NE(all.key(), without.key());
}

TEST(SourceTurns, NoWindowIsLostOrComesTwiceInAPassAcrossChanges) {
  const std::vector<SampleOrder::Source> sources = {{"a", 23}, {"b", 31}, {"c", 7}};
  const SampleOrder order(sources, SourceTurns(2, some_stages(), batch), 0, 9);
  std::map<std::pair<std::int32_t, std::int64_t>, std::set<std::int64_t>> passes;
  std::map<std::int32_t, std::int64_t> newest;
  for (std::int64_t g = 0; g < 1000; ++g) {
    const Sample sample = order.train_sample(g);
    const std::pair pass(sample.source, sample.epoch);
    EXPECT_TRUE(passes[pass].insert(sample.window).second) << g;
    EXPECT_GE(sample.epoch, newest[sample.source]) << g;
    newest[sample.source] = sample.epoch;
  }
  for (const auto& [which, windows] : passes) {
    const auto& [source, epoch] = which;
    if (epoch == newest[source]) continue;
    EXPECT_EQ(static_cast<std::int64_t>(windows.size()), sources[static_cast<std::size_t>(source)].windows) << epoch;
  }
  EXPECT_GE(newest[2], 15);
}

TEST(SourceTurns, TheKeyTellsStagesVersionsAndSourcesApart) {
  const auto key = [](std::int64_t version, const Stages& stages) { return SourceTurns(version, stages, batch).key(); };
  const std::vector<std::vector<std::uint64_t>> keys = {key(1, {{1, {2, 1}}}),
                                                        key(2, {{1, {2, 1}}}),
                                                        key(2, {{1, {2, 1, 0}}, {9, {2, 1, 1}}}),
                                                        key(2, {{1, {2, 1}}, {9, {2, 1}}}),
                                                        key(2, {{1, {1, 2}}}),
                                                        key(2, {{1, {0, 1}}, {9, {1, 2}}}),
                                                        key(2, {{1, {1, 0}}, {9, {1, 2}}}),
                                                        key(1, {{1, {0, 1}}}),
                                                        key(1, {{1, {1, 0}}})};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " and " << j;
  }
}

}  // namespace
}  // namespace octet
