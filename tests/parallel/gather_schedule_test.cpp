#include "src/parallel/gather_schedule.h"

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace octet {
namespace {

const std::vector<int> two_blocks{0, 1, 2, 3, 2, 1};  ///< embedding, blocks 1 and 2, head, and back

/// Units that are alive after each step of the pass, as text.
std::vector<std::string> alive(const std::vector<int>& order, bool lets_go) {
  GatherSchedule schedule(lets_go);
  schedule.begin(order);
  std::vector<std::string> steps;
  std::vector<bool> now(10, false);
  for (const int unit : order) {
    schedule.advance(unit);
    now[static_cast<std::size_t>(unit)] = true;
    if (schedule.next() >= 0) now[static_cast<std::size_t>(schedule.next())] = true;
    std::string text;
    for (std::size_t u = 0; u < now.size(); ++u) text += now[u] ? std::to_string(u) : "";
    steps.push_back(text);
    now[static_cast<std::size_t>(unit)] = schedule.keep(unit);
  }
  return steps;
}

TEST(GatherSchedule, ReshardingHoldsTheUnitInUseAndTheNext) {
  EXPECT_EQ(alive(two_blocks, true), (std::vector<std::string>{"01", "12", "23", "23", "12", "1"}));
}

TEST(GatherSchedule, WithoutReshardingEverythingStays) {
  EXPECT_EQ(alive(two_blocks, false), (std::vector<std::string>{"01", "012", "0123", "0123", "0123", "0123"}));
}

TEST(GatherSchedule, AUnitThatComesBackWithinTwoStays) {
  GatherSchedule schedule(true);
  schedule.begin(two_blocks);
  for (const int unit : {0, 1}) schedule.advance(unit);
  EXPECT_FALSE(schedule.keep(1));
  schedule.advance(2);
  EXPECT_TRUE(schedule.keep(2));  // its backward follows the head
  schedule.advance(3);
  EXPECT_FALSE(schedule.keep(3));
}

TEST(GatherSchedule, OrderViolationsAreErrors) {
  GatherSchedule schedule(true);
  EXPECT_THROW(schedule.advance(0), Error);  // nothing announced
  schedule.begin(two_blocks);
  try {
    schedule.advance(1);
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::internal);
    EXPECT_STREQ(e.what(), "[parallel] unit 1 asked for, but the announced order has 0 at position 0");
  }
  for (const int unit : two_blocks) schedule.advance(unit);
  EXPECT_EQ(schedule.next(), -1);
  EXPECT_THROW(schedule.advance(0), Error);  // beyond the end
  schedule.begin(two_blocks);
  EXPECT_EQ(schedule.next(), 0);
}

}  // namespace
}  // namespace octet
