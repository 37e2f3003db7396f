// Two models' answers to the same questions, counted by hand.
#include "src/evaluate/tasks/paired_answers.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

/// Questions with the choices "a" and "bbbb", of which that number is right.
LoadedTask task_of(const std::string& name, const std::vector<std::size_t>& golds) {
  LoadedTask task{.name = name};
  for (const std::size_t gold : golds) task.items.push_back({.choices = {"a", "bbbb"}, .gold = gold});
  return task;
}

using Numbers = std::vector<double>;

TEST(PairedAnswers, SayWhichModelAloneIsRight) {
  const LoadedTask task = task_of("t", {0, 0, 1, 1});
  const LogLikelihoods first{{-1, -9}, {-2, -1}, {-2, -1}, {-1, -2}};   // takes 0 1 1 0, by length 0 1 1 1
  const LogLikelihoods second{{-2, -1}, {-1, -9}, {-9, -1}, {-1, -9}};  // takes 1 0 1 0, by length 1 0 1 0
  const PairedAnswers pair = pair_answers(task, first, second);
  EXPECT_EQ(pair.acc, (Numbers{1, -1, 0, 0}));
  EXPECT_EQ(pair.acc_norm, (Numbers{1, -1, 0, 1}));
  EXPECT_EQ(pair.acc_bytes, pair.acc_norm);
  const TaskDifference difference = difference_of(pair, {});
  EXPECT_EQ(difference.acc.value, 0.0);
  EXPECT_EQ(difference.acc_norm->value, 0.25);
  EXPECT_EQ(difference_of(pair_answers(task, second, first), {}).acc_norm->value, -0.25);
  const TaskDifference none = difference_of(pair_answers(task, first, first), {});
  EXPECT_EQ(none.acc.interval, (Interval{0, 0}));
}

// Of 4 questions with 1, and 8 with -1 and 4 with 0 it is -4 of 16, and not the mean of the tasks' differences.
TEST(PairedAnswers, OfAGroupAreThoseOfAllItsQuestions) {
  const auto all = [](std::size_t count, double value) { return Numbers(count, value); };
  Numbers large = all(8, -1);
  large.resize(12, 0);
  const std::vector<PairedAnswers> pairs{
      {.name = "small", .acc = all(4, 1)}, {.name = "other", .acc = all(9, 1)}, {.name = "large", .acc = large}};
  const PairedAnswers group = pair_answers(TaskGroup{.name = "g", .tasks = {"large", "small"}}, pairs);
  EXPECT_EQ(group.name, "g");
  EXPECT_EQ(group.acc.size(), 16u);
  const TaskDifference difference = difference_of(group, {});
  EXPECT_EQ(difference.acc.value, -0.25);
  EXPECT_FALSE(difference.acc_norm);
  EXPECT_LT(difference.acc.interval->low, -0.25);
  EXPECT_GT(difference.acc.interval->high, -0.25);
}

TEST(PairedAnswers, OneQuestionHasNoInterval) {
  const LoadedTask task = task_of("t", {1});
  const TaskDifference difference = difference_of(pair_answers(task, {{-2, -1}}, {{-1, -2}}), {});
  EXPECT_EQ(difference.acc.value, 1.0);
  EXPECT_FALSE(difference.acc.interval);
}

}  // namespace
}  // namespace octet
