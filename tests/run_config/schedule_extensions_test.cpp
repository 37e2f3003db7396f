#include "src/run_config/resume/schedule_extensions.h"

#include <gtest/gtest.h>

#include "src/run_config/options/run_options.h"
#include "src/run_config/resume/setting_changes.h"
#include "tests/run_config/english_run.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using enum ScheduleExtend;
using Extensions = std::vector<ScheduleExtension>;

RunConfig with(ScheduleKind kind, std::int64_t steps) {
  RunConfig c;
  c.train.steps = steps;
  c.schedule = {.kind = kind, .warmup_steps = 10, .decay_steps = kind == ScheduleKind::wsd ? 20 : 0};
  return c;
}

Extensions extended(const RunConfig& then, std::int64_t steps, std::int64_t done, ScheduleExtend extend = refuse) {
  RunConfig now = then;
  now.schedule.extensions.clear();  // a command knows of none
  now.schedule.extend = extend;
  now.train.steps = steps;
  return extensions_after(then, now, done, "step-7");
}

std::string refused(const RunConfig& then, std::int64_t steps, std::int64_t done, ScheduleExtend extend = refuse) {
  return test::error_of([&] { extended(then, steps, done, extend); });
}

TEST(ScheduleExtensions, AConstantOneMayHaveAnyLength) {
  for (const std::int64_t steps : {60, 99, 101, 1000}) {
    EXPECT_EQ(extended(with(ScheduleKind::constant, 100), steps, 60, rewarm), Extensions{});
  }
}

TEST(ScheduleExtensions, WsdMayUntilItsDecayHasBegunByTheOldOrTheNewNumber) {
  const RunConfig wsd = with(ScheduleKind::wsd, 100);  // decays in steps 81 to 100
  EXPECT_EQ(extended(wsd, 200, 80, rewarm), Extensions{});
  EXPECT_NE(refused(wsd, 200, 81).find("step 81, which is done, had the learning rate"), std::string::npos);
  EXPECT_EQ(extended(wsd, 90, 70), Extensions{});
  const std::string message = refused(wsd, 90, 71);
  EXPECT_NE(message.find("[config] step-7: train.steps = 100 there, 90 now: step 71"), std::string::npos) << message;
  EXPECT_EQ(message.find("schedule.extend"), std::string::npos) << "nothing is added: " << message;
  EXPECT_NE(message.find("--checkpoint.allow_changes train.steps"), std::string::npos) << message;
}

TEST(ScheduleExtensions, ACosineMayInItsWarmUpAlone) {
  const RunConfig cosine = with(ScheduleKind::cosine, 100);
  EXPECT_EQ(extended(cosine, 200, 10), Extensions{});
  const std::string message = refused(cosine, 200, 11);
  for (const char* part : {"step 11", "--schedule.extend constant", "--schedule.extend rewarm", "after step 100"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  RunConfig flat = cosine;
  flat.schedule.min_lr_ratio = 1;
  EXPECT_EQ(extended(flat, 200, 100), Extensions{}) << "its rates do not depend on its end";
}

TEST(ScheduleExtensions, ExtendAddsAPartWhereTheOldScheduleEnds) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::wsd}) {
    for (const std::int64_t done : {90, 100}) {  // in its midst too
      EXPECT_EQ(extended(with(kind, 100), 200, done, constant), (Extensions{{constant, 100}}));
      EXPECT_EQ(extended(with(kind, 100), 200, done, rewarm), (Extensions{{rewarm, 100}}));
    }
  }
  const std::string message = refused(with(ScheduleKind::wsd, 100), 129, 100, rewarm);
  EXPECT_NE(message.find("expected at most the 29 that are added"), std::string::npos) << message;
}

TEST(ScheduleExtensions, WhatWasExtendedIsKeptAndExtendedAgain) {
  RunConfig then = with(ScheduleKind::cosine, 200);
  then.schedule.extensions = {{rewarm, 100}};
  EXPECT_EQ(extended(then, 200, 150), (Extensions{{rewarm, 100}})) << "without naming schedule.extend again";
  EXPECT_EQ(extended(then, 300, 110), (Extensions{{rewarm, 100}})) << "in its warm-up";
  EXPECT_FALSE(refused(then, 300, 111).empty());
  EXPECT_EQ(extended(then, 300, 200, constant), (Extensions{{rewarm, 100}, {constant, 200}}));
  then.train.steps = 300;
  then.schedule.extensions = {{rewarm, 100}, {constant, 200}};
  EXPECT_EQ(extended(then, 400, 250), (Extensions{{rewarm, 100}, {constant, 200}})) << "a held rate has no end";
  EXPECT_EQ(extended(then, 150, 100), (Extensions{{rewarm, 100}})) << "what has not begun may be left out";
  EXPECT_EQ(extended(then, 200, 150), (Extensions{{rewarm, 100}})) << "and what would begin behind the last step";
  EXPECT_FALSE(refused(then, 150, 120).empty());
}

TEST(ScheduleExtensions, OnPurposeTheScheduleIsStretched) {
  const RunConfig then = with(ScheduleKind::cosine, 100);
  RunConfig now = then;
  now.train.steps = 200;
  now.checkpoint.allow_changes = {"train.steps"};
  EXPECT_EQ(extensions_after(then, now, 50, "there"), Extensions{});
  now.checkpoint.allow_changes = {"schedule.kind"};
  EXPECT_THROW(extensions_after(then, now, 50, "there"), Error) << "allowed, but not changed";
  now.schedule.min_lr_ratio = 0.1;
  EXPECT_EQ(extensions_after(then, now, 50, "there"), Extensions{});
  now.schedule.extend = constant;
  EXPECT_EQ(extensions_after(then, now, 50, "there"), (Extensions{{constant, 100}}));
}

TEST(ScheduleExtensions, AnotherScheduleOnPurposeIsStretchedToo) {
  const RunConfig then = with(ScheduleKind::wsd, 100);
  const auto stretched = [&](auto&& change) {
    RunConfig now = then;
    now.train.steps = 90;
    change(now.schedule);
    return extensions_after(then, now, 75, "there");
  };
  EXPECT_THROW(stretched([](ScheduleConfig&) {}), Error);
  EXPECT_EQ(stretched([](ScheduleConfig& s) { s.kind = ScheduleKind::cosine; }), Extensions{});
  EXPECT_EQ(stretched([](ScheduleConfig& s) { s.warmup_steps = 5; }), Extensions{});
  EXPECT_EQ(stretched([](ScheduleConfig& s) { s.decay_steps = 30; }), Extensions{});
  EXPECT_EQ(stretched([](ScheduleConfig& s) { s.min_lr_ratio = 0.1; }), Extensions{});
}

TEST(ScheduleExtensions, CheckpointsKeepTheExtensions) {
  const RunConfig command = english_run({{"schedule.extend", "rewarm"}});
  RunConfig saved = command;
  saved.schedule.extensions = {{rewarm, 100}, {constant, 200}};
  const std::string text = stored_yaml(saved);
  EXPECT_EQ(stored_config(text, "there", command).schedule.extensions, saved.schedule.extensions);
  EXPECT_EQ(to_yaml(saved).find("schedule_history"), std::string::npos) << "no option of a run";
  std::vector<std::string> unknown;
  RunConfig plain = command;
  plain.schedule.extend = refuse;
  const auto changes = check_settings(text, "there", plain, unknown);
  ASSERT_EQ(changes.size(), 1u) << "schedule.extend itself may change, the extensions are no setting";
  EXPECT_EQ(changes[0].key, "schedule.extend");
  EXPECT_EQ(stored_config("train:\n  steps: 7\n", "there", saved).schedule.extensions, Extensions{});
}

TEST(ScheduleExtensions, TheTextSaysEveryPart) {
  EXPECT_EQ(schedule_text({.kind = ScheduleKind::cosine}, 100), "cosine over 100 step(s)");
  EXPECT_EQ(
      schedule_text({.kind = ScheduleKind::wsd, .extensions = {{constant, 100}, {rewarm, 150}}}, 300),
      "wsd over 100 step(s); then steps 101 to 150 hold the last learning rate; then steps 151 to 300 warm up and "
      "decay again");
}

}  // namespace
}  // namespace octet
