#include "src/run_config/resume/data_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/data/tokenizer_identity.h"
#include "src/run_config/options/run_options.h"
#include "src/run_config/resume/setting_changes.h"
#include "tests/run_config/english_run.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

RunConfig run_of(std::vector<DataSource> train, std::vector<WeightChange> changes = {}) {
  RunConfig config = english_run();
  config.data.train = std::move(train);
  config.data.changes = std::move(changes);
  return config;
}

/// What a checkpoint keeps of those settings.
RunConfig stored_and_read(const RunConfig& config) {
  return stored_config(stored_yaml(config), "step-10", english_run());
}

DataHistory after_10(const RunConfig& then, const RunConfig& now) {
  return data_history_after(stored_and_read(then), now, 10, "step-10");
}

std::string refusal_of(const RunConfig& then, const RunConfig& now) {
  return test::error_of([&] { after_10(then, now); });
}

#define EXPECT_REFUSED(then, now, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, refusal_of(then, now))

const std::vector<DataSource> two = {{"a", 2.0}, {"b", 1.0}};

TEST(DataHistory, ACheckpointKeepsChangesAndHistory) {
  RunConfig config = run_of(two, {{7, {0.1, 1e-7}}, {9, {0, 1}}});
  config.data.history.added = {{1, 3}};
  const RunConfig read = stored_and_read(config);
  EXPECT_EQ(read.data.changes, config.data.changes);
  EXPECT_EQ(read.data.history, config.data.history);
  EXPECT_EQ(to_yaml(config).find("data_history"), std::string::npos) << "no option of a run";
}

TEST(DataHistory, ACheckpointThatSaysNothingIsOfVersion1) {
  const RunConfig now = run_of(two, {{30, {1, 1}}});
  const RunConfig then = stored_config("data:\n  train: [{path: x, weight: 2}, {path: y, weight: 1}]\n", "there", now);
  EXPECT_EQ(then.data.history, (DataHistory{.order = 1, .added = {}, .tokenizer = {}}));
  EXPECT_TRUE(then.data.changes.empty());
  EXPECT_EQ(data_history_after(then, now, 10, "there").order, 1);
  EXPECT_EQ(data_history_after(then, now, 0, "there").order, newest_data_order) << "nothing has been read";
  EXPECT_EQ(after_10(now, now).order, newest_data_order);
}

TEST(DataHistory, WhatHasBeenReadCannotChange) {
  const RunConfig then = run_of(two, {{5, {1, 1}}, {20, {1, 3}}});
  EXPECT_EQ(after_10(then, then), DataHistory{});
  EXPECT_EQ(after_10(then, run_of(two, {{5, {1, 1}}, {11, {1, 4}}, {12, {1, 5}}})), DataHistory{}) << "to come";
  EXPECT_EQ(after_10(then, run_of(two, {{5, {1, 1}}})), DataHistory{});
  EXPECT_EQ(after_10(then, run_of({{"moved", 4.0}, {"b", 2.0}}, then.data.changes)), DataHistory{}) << "by a factor";
  EXPECT_REFUSED(then, run_of(two),
                 "[config] step-10: data.changes has {step: 5, weights: [1, 1]} there, nothing now, and step "
                 "10 is done");
  EXPECT_REFUSED(then, run_of(two, {{5, {1, 2}}}), "{step: 5, weights: [1, 2]} now");
  EXPECT_REFUSED(then, run_of(two, {{5, {1, 1}}, {10, {1, 2}}}), "has nothing there, {step: 10, weights: [1, 2]} now");
  EXPECT_REFUSED(then, run_of({{"a", 2.0}, {"b", 1.5}}, then.data.changes),
                 "data.train[1].weight = 1 there, 1.5 now; the run can only go on with the same: data.changes");
  EXPECT_REFUSED(then, run_of({{"a", 2.0}}), "data.train has 2 sources there, 1 now");
  EXPECT_REFUSED(then, run_of({{"a", 2.0}}), "a weight of 0 in data.changes leaves one out");
}

TEST(DataHistory, SourcesComeInWhereTheyAreAllowed) {
  const RunConfig then = run_of(two, {{5, {1, 1}}, {20, {1, 3}}});
  std::vector<DataSource> three = two;
  three.push_back({"c", 4.0});
  RunConfig now = run_of(three, {{5, {1, 1}}, {20, {1, 3, 2}}});
  EXPECT_REFUSED(then, now,
                 "to add c from step 11 on, change it on purpose with --checkpoint.allow_changes data.train");
  now.checkpoint.allow_changes = {"data.train"};
  const DataHistory came = after_10(then, now);
  EXPECT_EQ(came, (DataHistory{.order = newest_data_order, .added = {{2, 10}}, .tokenizer = {}}));
  now.data.history = came;
  now.checkpoint.allow_changes = {};
  EXPECT_EQ(data_history_after(stored_and_read(now), now, 30, "step-30"), came) << "it goes on with it";

  RunConfig short_one = now;
  short_one.data.history = {};
  short_one.data.changes[1].weights = {1, 3};
  short_one.checkpoint.allow_changes = {"data.train"};
  EXPECT_REFUSED(then, short_one,
                 "data.changes[1].weights has 2 number(s); expected one for each source of data.train");
  RunConfig padded = now;
  padded.data.changes[0].weights = {1, 1, 0};
  EXPECT_EQ(data_history_after(stored_and_read(now), padded, 30, "step-30"), came) << "0 before it came";
}

TEST(DataHistory, TheTokenizerStaysTheSame) {
  RunConfig then = run_of(two), now = then;
  TokenizerIdentity tokenizer{.kind = TokenizerKind::bpe, .file = "a \"b\".json", .fingerprint = 7, .vocab_size = 300};
  then.data.history.tokenizer = json_of(tokenizer).dump();
  EXPECT_EQ(stored_and_read(then).data.history, then.data.history);
  EXPECT_EQ(after_10(then, now), then.data.history) << "what was known stays so";
  tokenizer.eos = 299;
  now.data.history.tokenizer = json_of(tokenizer).dump();
  EXPECT_EQ(after_10(then, now), then.data.history) << "the same ids";
  EXPECT_EQ(after_10(run_of(two), now), now.data.history) << "it is known now";
  tokenizer.fingerprint = 8;
  now.data.history.tokenizer = json_of(tokenizer).dump();
  EXPECT_REFUSED(then, now, "(0000000000000007, 300 ids) there, bpe a \"b\".json (0000000000000008, 300 ids) now");
  EXPECT_THROW(data_history_after(then, now, 0, "step-0"), Error) << "nor is it that of imported weights";
  now.data.history.tokenizer.clear();
  EXPECT_EQ(data_history_after(then, now, 0, "step-0").tokenizer, then.data.history.tokenizer);
}

TEST(DataHistory, OnlyChangesToComeMayBeAllowed) {
  const RunConfig then = run_of(two, {{5, {1, 1}}});
  RunConfig now = run_of(two, {{5, {1, 1}}, {20, {1, 3}}});
  std::vector<std::string> unknown;
  EXPECT_THROW(check_settings(stored_yaml(then), "there", now, unknown), Error);
  now.checkpoint.allow_changes = {"data.changes"};
  const auto changes = check_settings(stored_yaml(then), "there", now, unknown);
  EXPECT_TRUE(
      std::ranges::any_of(changes, [](const SettingChange& c) { return c.key == "data.changes" && c.decides; }));
}

}  // namespace
}  // namespace octet
