// Of several reasons to end, which one is told.
#include "src/train/run/ending.h"

#include <gtest/gtest.h>

#include <limits>

namespace octet {
namespace {

class EndingOfAStep : public testing::Test {
 protected:
  EndingOfAStep() {
    config_.train.steps = 10;
    result_.step = 4;
  }
  std::optional<Ending> ending(StopReason stop = StopReason::none) const { return ending_of(config_, outcome_, stop); }

  RunConfig config_;
  StepResult result_;
  Outcome outcome_{result_};
};

TEST_F(EndingOfAStep, NoneBeforeTheLastThatNobodyAsksFor) {
  EXPECT_FALSE(ending());
  outcome_.validation_loss = 2.5;
  EXPECT_FALSE(ending());
}

TEST_F(EndingOfAStep, TheLastStepIsTheEndWhateverElseWasAskedFor) {
  result_.step = 10;
  for (const StopReason stop : {StopReason::none, StopReason::wall_time, StopReason::interrupt}) {
    const auto end = ending(stop);
    ASSERT_TRUE(end);
    EXPECT_STREQ(end->state, "finished") << name_of(stop);
    EXPECT_EQ(end->exit_code, ExitCode::finished);
    EXPECT_EQ(end->stop, StopReason::none) << "there is nothing to go on with";
  }
}

TEST_F(EndingOfAStep, ALastStepThatWasNotFiniteIsNoGoodEnd) {
  result_.non_finite = {{"block.0", "input", 3}};
  EXPECT_FALSE(ending()) << "a tensor alone ends nothing before";
  result_.step = 10;
  EXPECT_EQ(ending()->exit_code, ExitCode::non_finite);
  EXPECT_NE(ending()->reason.find("is not saved"), std::string::npos) << ending()->reason;
}

TEST_F(EndingOfAStep, ARequestSaysWhoAsked) {
  const auto asked = ending(StopReason::wall_time);
  ASSERT_TRUE(asked);
  EXPECT_STREQ(asked->state, "stopped");
  EXPECT_EQ(asked->reason, "train.max_wall_time");
  EXPECT_EQ(asked->exit_code, ExitCode::terminated);
  EXPECT_EQ(asked->stop, StopReason::wall_time);
  EXPECT_EQ(ending(StopReason::interrupt)->exit_code, ExitCode::interrupted);
}

TEST_F(EndingOfAStep, WhatIsWrongGoesBeforeAnEndThatIsGood) {
  result_.step = 10;
  outcome_.validation_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ending(StopReason::interrupt)->exit_code, ExitCode::non_finite);
  outcome_.replica_difference = "weights of rank 1";
  const auto differs = ending(StopReason::interrupt);
  EXPECT_EQ(differs->exit_code, ExitCode::unhealthy);
  EXPECT_NE(differs->reason.find("after step 10"), std::string::npos) << differs->reason;
  result_.loss = std::numeric_limits<double>::infinity();
  EXPECT_NE(ending()->reason.find("the loss of step 10 is not finite"), std::string::npos) << ending()->reason;
  result_.skipped = true;
  const auto skipped = ending(StopReason::interrupt);
  EXPECT_STREQ(skipped->state, "failed");
  EXPECT_EQ(skipped->exit_code, ExitCode::non_finite);
  EXPECT_EQ(skipped->stop, StopReason::none);
}

}  // namespace
}  // namespace octet
