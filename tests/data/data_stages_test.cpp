#include "src/data/data_stages.h"

#include <cmath>
#include <limits>

#include "tests/data/support.h"

namespace octet {
namespace {

using test::error_of;

DataConfig two_sources(std::vector<WeightChange> changes = {}) {
  return {.train = {{"a", 3.0}, {"b", 1.0}}, .changes = std::move(changes)};
}

TEST(DataStages, AreTheWeightsAndTheirChanges) {
  EXPECT_EQ(stages_of(two_sources()), (std::vector<DataStage>{{1, {3, 1}}}));
  EXPECT_EQ(stages_of(two_sources({{10, {1, 1}}, {20, {0, 1}}})),
            (std::vector<DataStage>{{1, {3, 1}}, {10, {1, 1}}, {20, {0, 1}}}));
}

TEST(DataStages, ASourceThatIsAddedComesBesideTheWeightsThatAreInForce) {
  DataConfig data = two_sources({{10, {1, 1}}, {30, {1, 1, 4}}});
  data.train.push_back({"c", 2.0});
  data.history.added = {{2, 15}};
  EXPECT_EQ(stages_of(data),
            (std::vector<DataStage>{{1, {3, 1, 0}}, {10, {1, 1, 0}}, {16, {1, 1, 2}}, {30, {1, 1, 4}}}));
  data.history.added = {{2, 29}};  // a change of the same step counts
  EXPECT_EQ(stages_of(data), (std::vector<DataStage>{{1, {3, 1, 0}}, {10, {1, 1, 0}}, {30, {1, 1, 4}}}));
}

TEST(DataStages, RefuseWhatIsNoMixture) {
  const auto refused = [](const DataConfig& data) { return error_of([&] { check_mixture(data); }); };
  EXPECT_NO_THROW(check_mixture(two_sources({{2, {0, 1}}, {3, {1}}})));
  EXPECT_HAS(refused({}), "data.train is empty");
  EXPECT_HAS(refused({.train = {{"a", 0}, {"b", 0}}}), "data.train: from step 1 on all weights are 0");
  EXPECT_HAS(refused({.train = {{"a", 1}, {"b", -1}}}), "data.train[1].weight is -1");
  EXPECT_HAS(refused({.train = {{"a", std::nan("")}}}), "data.train[0].weight is nan");
  EXPECT_HAS(refused({.train = {{"a", std::numeric_limits<double>::infinity()}}}), "weight is inf");
  EXPECT_HAS(refused(two_sources({{1, {1, 1}}})), "data.changes[0].step is 1; expected 2 or more");
  EXPECT_HAS(refused(two_sources({{5, {1, 1}}, {5, {1, 2}}})), "data.changes[1].step is 5; expected a step after 5");
  EXPECT_HAS(refused(two_sources({{5, {1, 1, 1}}})), "data.changes[0].weights has 3 numbers; expected 2");
  EXPECT_HAS(refused(two_sources({{5, {1, -2}}})), "data.changes[0].weights[1] is -2");
  EXPECT_HAS(refused(two_sources({{5, {1, 1}}, {7, {0, 0}}})), "data.changes: from step 7 on all weights are 0");
}

TEST(DataStages, AChangeHasAWeightForEverySourceThatIsThere) {
  EXPECT_HAS(
      error_of([&] {
        check_changes(two_sources({{5, {1}}}));
      }),
      "data.changes[0].weights has 1 number(s); expected one for each source of data.train that is there at step "
      "5, b too");
  DataConfig data = two_sources({{5, {1}}});
  data.history.added = {{1, 5}};
  EXPECT_NO_THROW(check_changes(data));
  data.changes[0].weights = {1, 0};
  EXPECT_NO_THROW(check_changes(data));
  data.changes[0].weights = {1, 2};
  EXPECT_HAS(error_of([&] { check_changes(data); }), "data.changes[0].weights[1] is 2 at step 5; b comes after step 5");
  data.history.added = {{1, 4}};
  EXPECT_NO_THROW(check_changes(data));
}

TEST(DataStages, ATextSaysHowTheSharesChange) {
  DataConfig data = two_sources({{10, {1, 1}}, {20, {2, 2}}});
  EXPECT_EQ(stage_texts(data), (std::vector<std::string>{"from step 10 on: a 75.00 -> 50.00 %, b 25.00 -> 50.00 %",
                                                         "from step 20 on: the same shares"}));
}

}  // namespace
}  // namespace octet
