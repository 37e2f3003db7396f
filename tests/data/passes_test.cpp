#include "src/data/passes.h"

#include <map>
#include <set>

#include "tests/data/support.h"

namespace octet {
namespace {

using test::TempFolder;
using test::write_tokens;

/// Two sources, of 40 and of 9 windows of 10 tokens; three quarters of the samples are of the second one.
class Passes : public testing::Test {
 protected:
  Passes() {
    const auto id = [](std::int64_t i) { return i % 50; };
    write_tokens(folder_ / "large", 401, TokenType::u8, id);
    write_tokens(folder_ / "small", 91, TokenType::u8, id);
  }
  Sampler sampler(double validation = 0) const {
    return {{{folder_ / "large", 1.0}, {folder_ / "small", 3.0}},
            {.seq_len = 10, .global_batch = 8, .vocab_size = 256, .seed = 5, .validation_fraction = validation}};
  }
  TempFolder folder_;
};

TEST_F(Passes, AreThoseOfTheSamplesThatAreRead) {
  const Sampler s = sampler(0.2);
  std::map<std::int32_t, std::int64_t> read;
  for (std::int64_t step = 1; step <= 30; ++step) {
    for (std::int64_t i = 0; i < 8; ++i) ++read[s.order().train_sample((step - 1) * 8 + i).source];
    const auto passes = passes_after(s, step);
    ASSERT_EQ(passes.size(), 2U);
    for (std::int32_t i = 0; i < 2; ++i) {
      const SourcePasses& source = passes[static_cast<std::size_t>(i)];
      EXPECT_EQ(source.asked, read[i]) << step;
      EXPECT_EQ(source.samples, i == 0 ? 32 : 7);
      EXPECT_EQ(source.passes(), static_cast<double>(read[i]) / static_cast<double>(source.samples));
    }
  }
}

TEST_F(Passes, OfManyStepsNeedNoHistory) {
  const auto passes = passes_after(sampler(), std::int64_t{1} << 40);
  EXPECT_EQ(passes[0].asked, std::int64_t{1} << 41);
  EXPECT_EQ(passes[1].asked, std::int64_t{3} << 41);
}

TEST_F(Passes, BeginWhereTheEpochOfASampleIsNew) {
  const Sampler s = sampler();
  std::set<std::pair<std::int32_t, std::int64_t>> seen = {{0, 0}, {1, 0}};
  std::int64_t begun = 0;
  for (std::int64_t step = 1; step <= 40; ++step) {
    std::vector<std::string> expected;
    for (std::int32_t source = 0; source < 2; ++source) {
      for (std::int64_t i = 0; i < 8; ++i) {
        const Sample sample = s.order().train_sample((step - 1) * 8 + i);
        if (sample.source != source || !seen.insert({source, sample.epoch}).second) continue;
        expected.push_back(fmt::format("data: pass {} over {}.bin begins in step {} ({} samples of 10 tokens a pass)",
                                       sample.epoch + 1, folder_ / (source == 0 ? "large" : "small"), step,
                                       source == 0 ? 40 : 9));
      }
    }
    EXPECT_EQ(passes_begun(s, step), expected);
    begun += static_cast<std::int64_t>(expected.size());
  }
  EXPECT_GT(begun, 20);
}

TEST_F(Passes, MoreThanAllowedAreToldWithWhatIsThereAndWhatIsAskedFor) {
  const Sampler s = sampler();
  EXPECT_TRUE(too_many_passes(s, 6, 4).empty());  // 36 samples of 9
  const auto told = too_many_passes(s, 7, 4);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_HAS(told[0], "data.train: " + (folder_ / "small") +
                          ".bin: 7 steps ask for 420 tokens of it, and 90 are there to "
                          "train on: 4.67 passes, more than data.max_passes = 4");
  EXPECT_TRUE(too_many_passes(s, 7, 5).empty());
  EXPECT_EQ(too_many_passes(s, 1000, 4).size(), 2U);
}

TEST_F(Passes, ChangesOfTheMixtureCountAndAreTold) {
  const std::string large = folder_ / "large", small = folder_ / "small";
  const Sampler s({{large, 1.0}, {small, 0.0}}, {.seq_len = 10,
                                                 .global_batch = 8,
                                                 .vocab_size = 256,
                                                 .seed = 5,
                                                 .changes = {{11, {1.0, 1.0}}, {21, {0.0, 1.0}}}});
  EXPECT_EQ(passes_after(s, 10)[1].asked, 0);
  EXPECT_EQ(passes_after(s, 20)[0].asked, 80 + 40);
  EXPECT_EQ(passes_after(s, 30)[0].asked, 80 + 40);
  EXPECT_EQ(passes_after(s, 30)[1].asked, 40 + 80);
  EXPECT_TRUE(changes_begun(s, 10).empty());
  EXPECT_EQ(changes_begun(s, 11),
            std::vector{fmt::format(
                "data: the mixture changes, from step 11 on: {} 100.00 -> 50.00 %, {} 0.00 -> 50.00 %", large, small)});
  EXPECT_TRUE(without_effect(s, 21).empty());
  const std::string late = "data.changes: the one from step 21 on comes after the last step, 20";
  EXPECT_EQ(without_effect(s, 20), std::vector{late});
  const auto never = without_effect(s, 10);
  ASSERT_EQ(never.size(), 3U);
  EXPECT_HAS(never[0], "small.bin: by its weights, 10 steps read nothing of it");
  EXPECT_TRUE(too_many_passes(s, 14, 3).empty());
  EXPECT_EQ(too_many_passes(s, 30, 4).size(), 1U) << "small: 120 samples of 9";
}

}  // namespace
}  // namespace octet
