// octet tune explain with a tuning file.
#include "src/tuning/explain/tuned.h"

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "tests/support/mib.h"

namespace octet {
namespace {

using test::mib;

Question question_of(std::int64_t bytes, std::string_view version = "2.28.9") {
  const NcclVersion nccl = parse_nccl_version(version);
  return {nccl, {}, default_constants(nccl), Collective::all_gather, {8, 8}, bytes};
}

TuningFile file_of(std::string_view version = "2.28.9") {
  TuningFile file;
  file.nccl = version;
  return file;
}

TuningFile pinned(Algorithm algorithm, Protocol protocol) {
  TuningFile file = file_of();
  file.choices = {{Collective::all_gather, 4, 16, 8, mib, 64 * mib, algorithm, protocol, "measured 120 us"}};
  return file;
}

Explanation told_of(std::int64_t bytes, const TuningFile& file) {
  Question question = question_of(bytes);
  return explain(question, file);
}

TEST(Tuned, AnEmptyFileChangesNothing) {
  const Explanation told = told_of(64 * mib, file_of());
  EXPECT_EQ(told.choice.us, explain(question_of(64 * mib)).choice.us);
  EXPECT_TRUE(told.pinned.empty());
  EXPECT_FALSE(told.fit);
}

TEST(Tuned, ChoicesHoldFromTheirFirstToBelowTheirLastByte) {
  const TuningFile file = pinned(Algorithm::ring, Protocol::ll);
  EXPECT_EQ(told_of(64 * mib - 1, file).choice.protocol, Protocol::ll);
  EXPECT_EQ(told_of(64 * mib - 1, file).pinned, "measured 120 us");
  EXPECT_NE(told_of(64 * mib, file).choice.protocol, Protocol::ll);
  EXPECT_TRUE(told_of(64 * mib, file).pinned.empty());
}

TEST(Tuned, ADisabledEntryIsNeverChosen) {
  const Explanation told = told_of(8 * mib, pinned(Algorithm::nvls, Protocol::simple));
  EXPECT_EQ(told.choice.algorithm, Algorithm::ring);
  EXPECT_TRUE(told.pinned.empty());
}

TEST(Tuned, ConstantsEnterTheModel) {
  TuningFile file = file_of();
  file.constants.hw_latency = {{TunedLink::net, Algorithm::ring, Protocol::ll128, 10}};
  Question question = question_of(64 * mib);
  const Explanation told = explain(question, file);
  const double before = explain(question_of(64 * mib)).choice.us;
  EXPECT_NEAR(told.choice.us, before + 7 * (10 - 4), 1e-6) << "7 hops between nodes";
}

TEST(Tuned, FitsGiveTheTimeAndNoLaunchIsAddedToIt) {
  TuningFile file = file_of();
  const Choice model = explain(question_of(64 * mib)).choice;
  file.fits = {{Collective::all_gather, model.algorithm, model.protocol, {8, 8}, 100, 50, 12, .02, .9}};
  Question question = question_of(64 * mib);
  const Explanation told = explain(question, file);
  EXPECT_NEAR(told.choice.us, 100 + 64 * 1048.576 / 50, 1e-6);
  ASSERT_TRUE(told.fit);
  EXPECT_FALSE(told.fit->extrapolated);
  EXPECT_TRUE(judge(question, told, told.choice.us / .851).healthy);
  EXPECT_FALSE(judge(question, told, told.choice.us / .849).healthy);
  file.fits[0].shape = {4, 8};
  EXPECT_FALSE(told_of(64 * mib, file).fit) << "one other number of nodes";
}

TEST(Tuned, FitsOfOtherNumbersOfNodesGiveTheTimeWithAnInterval) {
  TuningFile file = file_of();
  const Choice model = explain(question_of(64 * mib)).choice;
  ASSERT_EQ(model.algorithm, Algorithm::ring);
  for (const int nodes : {2, 4, 16}) {  // a ring's latency grows with its nodes
    file.fits.push_back(
        {Collective::all_gather, model.algorithm, model.protocol, {nodes, 8}, 10. * nodes, 50, 12, .02, .9});
  }
  Question question = question_of(64 * mib);
  const Explanation told = explain(question, file);
  ASSERT_TRUE(told.fit);
  EXPECT_NEAR(told.choice.us, 80 + 64 * 1048.576 / 50, 45);
  EXPECT_LT(told.fit->low_us, told.choice.us);
  EXPECT_GT(told.fit->high_us, told.choice.us);
  EXPECT_TRUE(judge(question, told, std::max(told.fit->high_us, told.choice.us / healthy_share)).healthy);
  EXPECT_FALSE(judge(question, told, 1.01 * std::max(told.fit->high_us, told.choice.us / healthy_share)).healthy);
}

TEST(Tuned, AnotherReleasesFileIsRefused) {
  Question question = question_of(mib, "2.27.7");
  EXPECT_THROW(explain(question, file_of("2.28.9")), Error);
  EXPECT_NO_THROW(explain(question, file_of("2.27.3")));
}

}  // namespace
}  // namespace octet
