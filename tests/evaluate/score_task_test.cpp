// From a task's texts to what is asked at once: choices that cannot be asked, what is cut, how much goes together.
#include "src/evaluate/tasks/score_task.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

const std::string tokenizer_file = OCTET_SOURCE_DIR "/tests/tokenizer/golden/bpe-512.json";

/// What is wrong with an item, or "".
std::string refusal(const TaskItem& item, std::int64_t window) {
  const auto tokenizer = make_tokenizer(tokenizer_file, {});
  return test::error_or_none([&] { ItemEncoder(*tokenizer).encode(item, window); });
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(ItemEncoder, RefusesChoicesThatCannotBeAsked) {
  const TaskItem item{.contexts = {"a"}, .continuations = {" a", " a b c d e"}, .place = "FILE:7"};
  expect_in(refusal(item, 4), "FILE:7: choice 1 has 5 tokens; expected at most the window of 4");
  EXPECT_EQ(refusal(item, 5), "");
  const TaskItem nothing{.contexts = {"a"}, .continuations = {" a", ""}, .place = "FILE:8"};
  expect_in(refusal(nothing, 9), "FILE:8: choice 1: it has no token of its own");
}

/// As lm-eval: a template may have written it.
TEST(ItemEncoder, PutsNoSecondBosBeforeAContextThatBeginsWithIt) {
  const auto tokenizer = make_tokenizer(tokenizer_file, {.control_tokens = true});
  ASSERT_TRUE(tokenizer->info().adds_bos);
  const std::int32_t bos = *tokenizer->info().bos;
  const std::string text = tokenizer->decode(std::vector<std::int32_t>{bos});
  ItemEncoder encoder(*tokenizer);
  const ScoreRequest plain = encoder.encode("a b", " c"), with = encoder.encode(text + "a b", " c");
  EXPECT_EQ(with.context, plain.context);
  EXPECT_EQ(with.continuation, plain.continuation);
  EXPECT_EQ(std::ranges::count(with.context, bos), 1);
}

TEST(ItemEncoder, RefusesATokenizerThatEndsEveryText) {
  const test::TempFolder folder;
  auto file = nlohmann::json::parse(*read_text_file(tokenizer_file));
  auto& processor = file["post_processor"]["processors"][1];
  const std::string end = "<|end_of_text|>";
  processor["single"].push_back({{"SpecialToken", {{"id", end}, {"type_id", 0}}}});
  processor["special_tokens"][end] = {{"id", end}, {"ids", {1}}, {"tokens", {end}}};
  ASSERT_TRUE(overwrite_text(folder / "tokenizer.json", file.dump()));
  const auto tokenizer = make_tokenizer(folder.path(), {});
  expect_in(test::error_of([&] { const ItemEncoder encoder(*tokenizer); }),
            "puts a token behind every text; expected none, since choices go on where their context");
}

TEST(EncodeTask, KnowsTheLongestQuestionAndHowManyAreCut) {
  LoadedTask task{.name = "t"};
  for (const int words : {3, 20, 1}) {
    std::string context;
    for (int i = 0; i < words; ++i) context += " a";
    task.items.push_back({.contexts = {context}, .continuations = {" a", " a a"}, .choices = {" a", " a a"}});
  }
  const auto tokenizer = make_tokenizer(tokenizer_file, {});
  ItemEncoder encoder(*tokenizer);
  const EncodedTask whole = encode_task(task, encoder, 500);
  ASSERT_EQ(whole.questions.size(), 3u);
  EXPECT_EQ(whole.cut, 0);
  EXPECT_EQ(whole.longest, 1 + 20 + 2 - 1);  // BOS, context and choice, whose last token is not seen
  EXPECT_EQ(encode_task(task, encoder, whole.longest).cut, 0);
  EXPECT_EQ(encode_task(task, encoder, whole.longest - 1).cut, 1);
  const EncodedTask cut = encode_task(task, encoder, 4);
  EXPECT_EQ(cut.cut, 2);
  EXPECT_EQ(cut.longest, 4);
}

/// Scores by the number of tokens, and remembers how many requests came at once.
class CountingRequests final : public Scorer {
 public:
  std::int64_t window() const override { return 8; }
  std::int64_t vocab_size() const override { return 512; }
  std::vector<Score> score(std::span<const ScoreRequest> requests, const ScoreProgress&) override {
    at_once.push_back(requests.size());
    std::vector<Score> scores;
    for (const ScoreRequest& r : requests) scores.push_back({-static_cast<double>(r.continuation.size()), false});
    return scores;
  }
  std::vector<std::size_t> at_once;
};

TEST(ScoreTask, AsksAsManyTokensAtOnceAsAreSaid) {
  EncodedTask task;
  for (int i = 0; i < 5; ++i) task.questions.push_back({{{1, 2}, {3}}, {{1, 2}, {4, 5}}});  // of 7 tokens
  CountingRequests scorer;
  const LogLikelihoods all = score_task(task, scorer, 14, nullptr);
  EXPECT_EQ(scorer.at_once, (std::vector<std::size_t>{4, 4, 2}));
  EXPECT_EQ(all, LogLikelihoods(5, {-1, -2}));
  EXPECT_EQ(tokens_at_once(512), 256 * 1024);
  EXPECT_EQ(tokens_at_once(8192), 64 * 8192);
}

TEST(ScoreTask, AsksAgainOnlyWhatIsNotKeptWhole) {
  EncodedTask task;
  for (int i = 0; i < 5; ++i) task.questions.push_back({{{1, 2}, {3}}});  // of 3 tokens, two at once
  for (std::size_t before = 0; before <= 5; ++before) {
    SCOPED_TRACE(before);
    CountingRequests scorer;
    std::vector<std::size_t> told;
    const LogLikelihoods kept(before, {-7});
    const LogLikelihoods all = score_task(
        task, scorer, 6, nullptr, {.before = kept, .add = [&](const auto&, auto first) { told.push_back(first); }});
    const std::size_t taken = before == 5 ? 5 : before / 2 * 2;
    LogLikelihoods expected(taken, {-7});
    expected.resize(5, {-1});
    EXPECT_EQ(all, expected);
    std::vector<std::size_t> first;
    for (std::size_t i = taken; i < 5; i += 2) first.push_back(i);
    EXPECT_EQ(told, first);
    EXPECT_EQ(scorer.at_once.size(), first.size());
  }
}

TEST(ResultOfAGroup, SaysWhatItsTasksLack) {
  const auto result = [](const std::string& name, std::int64_t left_out, std::int64_t cut) {
    return TaskResult{.name = name, .shots = 5, .left_out = left_out, .cut = cut, .acc = accuracy_of({true, false})};
  };
  const TaskResult group = result_of({.name = "g", .tasks = {"a", "b"}},
                                     {result("a", 3, 10), result("other", 100, 1000), result("b", 4, 20)});
  EXPECT_EQ(group.acc.questions, 4);
  EXPECT_EQ(group.shots, 5);
  EXPECT_EQ(group.left_out, 7);
  EXPECT_EQ(group.cut, 30);
}

TEST(KeepFirst, LeavesOutTheRest) {
  LoadedTask task{.name = "t"};
  for (const char* place : {"a", "b", "c"}) task.items.push_back({.place = place});
  LoadedTask all = task;
  keep_first(all, 3);
  EXPECT_EQ(all.items.size(), 3u);
  keep_first(all, 4);
  EXPECT_EQ(all.left_out, 0);
  keep_first(task, 2);
  ASSERT_EQ(task.items.size(), 2u);
  EXPECT_EQ(task.items[1].place, "b");
  EXPECT_EQ(task.left_out, 1);
}

}  // namespace
}  // namespace octet
