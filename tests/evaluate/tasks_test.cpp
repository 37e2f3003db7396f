// Tasks against lm-eval-harness: requests, tokens and metrics as tests/evaluate/tasks/lm_eval_requests.py recorded
// them. With OCTET_TASKS_GOLDEN, of another folder that it made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/evaluate/tasks/begun_task.h"
#include "src/evaluate/tasks/dataset_file.h"
#include "src/evaluate/tasks/hellaswag_text.h"
#include "src/evaluate/tasks/python_random.h"
#include "src/evaluate/tasks/python_text.h"
#include "src/evaluate/tasks/score_task.h"
#include "src/evaluate/tasks/task_files.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string golden() {
  const char* given = std::getenv("OCTET_TASKS_GOLDEN");
  return given != nullptr ? given : std::string(OCTET_SOURCE_DIR) + "/tests/evaluate/tasks/golden";
}

std::unique_ptr<Tokenizer> small_tokenizer() {
  return make_tokenizer(std::string(OCTET_SOURCE_DIR) + "/tests/tokenizer/golden/bpe-512.json",
                        {.control_tokens = true});
}

/// As the script's likelihood().
double likelihood(const std::string& context, const std::string& continuation) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const char c : fmt::format("{}{}{}", context, '\0', continuation)) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return -static_cast<double>(value % 997) / 64;
}

// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON does not throw
struct Golden {
  std::map<std::string, std::vector<json>> questions;  ///< "piqa 2": in order
  json metrics;
};

const Golden& recorded() {
  static const Golden all = [] {
    Golden out;
    std::ifstream lines(golden() + "/requests.jsonl");
    for (std::string line; std::getline(lines, line);) {
      json one = json::parse(line);
      const std::string key = fmt::format("{} {}", one["task"].get<std::string>(), one["shots"].get<int>());
      out.questions[key].push_back(std::move(one));
    }
    out.metrics = json::parse(*read_text_file(golden() + "/metrics.json"));
    return out;
  }();
  return all;
}

LoadedTask load_golden(const std::string& key) {
  const std::size_t blank = key.find(' ');
  const TaskSelection found = find_tasks({key.substr(0, blank)});
  return load_task(found.tasks.at(0), golden() + "/data", std::stoll(key.substr(blank)));
}

LogLikelihoods likelihoods_of(const LoadedTask& task) {
  LogLikelihoods out;
  for (const TaskItem& item : task.items) {
    auto& one = out.emplace_back();
    const std::size_t count = std::max(item.contexts.size(), item.continuations.size());
    for (std::size_t i = 0; i < count; ++i) one.push_back(likelihood(item.context(i), item.continuation(i)));
  }
  return out;
}

void expect_number(const json& expected, const std::string& key, double value, const std::string& what) {
  ASSERT_TRUE(expected.contains(key)) << what << ": " << key;
  EXPECT_NEAR(value, expected[key].get<double>(), 1e-12) << what << ": " << key;
}

TEST(TasksGolden, AsksWhatLmEvalAsks) {
  EXPECT_GE(recorded().questions.size(), 20u);
  for (const auto& [key, questions] : recorded().questions) {
    const LoadedTask task = load_golden(key);
    ASSERT_EQ(task.items.size(), questions.size()) << key;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const auto contexts = questions[i]["contexts"].get<std::vector<std::string>>();
      const auto continuations = questions[i]["continuations"].get<std::vector<std::string>>();
      for (std::size_t c = 0; c < continuations.size(); ++c) {
        ASSERT_EQ(task.items[i].context(c), contexts[contexts.size() > 1 ? c : 0]) << key << ", question " << i;
        ASSERT_EQ(task.items[i].continuation(c), continuations[c]) << key << ", question " << i;
      }
    }
  }
}

TEST(TasksGolden, TokensAreThoseOfLmEvalsModels) {
  const auto tokenizer = small_tokenizer();
  ItemEncoder encoder(*tokenizer);
  EXPECT_TRUE(encoder.adds_bos());
  for (const auto& [key, questions] : recorded().questions) {
    const LoadedTask task = load_golden(key);
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const auto contexts = questions[i]["context_ids"].get<std::vector<std::vector<std::int32_t>>>();
      const auto continuations = questions[i]["continuation_ids"].get<std::vector<std::vector<std::int32_t>>>();
      const auto requests = encoder.encode(task.items[i], 1 << 20);
      ASSERT_EQ(requests.size(), continuations.size());
      for (std::size_t c = 0; c < requests.size(); ++c) {
        ASSERT_EQ(requests[c].context, contexts[contexts.size() > 1 ? c : 0]) << key << ", question " << i;
        ASSERT_EQ(requests[c].continuation, continuations[c]) << key << ", question " << i;
      }
    }
  }
}

TEST(TasksGolden, MetricsAreThoseOfLmEval) {
  std::vector<TaskResult> mmlu;
  for (const auto& [key, questions] : recorded().questions) {
    const LoadedTask task = load_golden(key);
    const TaskResult result = result_of(task, {}, likelihoods_of(task));
    const json& expected = recorded().metrics[key];
    expect_number(expected, "acc,none", result.acc.value, key);
    expect_number(expected, "acc_stderr,none", *result.acc.error, key);
    if (result.normalised) {
      expect_number(expected, "acc_norm,none", result.acc_norm.value, key);
      expect_number(expected, "acc_norm_stderr,none", *result.acc_norm.error, key);
      expect_number(expected, "acc_bytes,none", result.acc_bytes.value, key);
    }
    if (key.starts_with("mmlu") && key.ends_with(" 0")) mmlu.push_back(result);
  }
  TaskGroup group{.name = "mmlu", .tasks = {}};
  for (const TaskResult& result : mmlu) group.tasks.push_back(result.name);
  const TaskResult all = result_of(group, mmlu);
  expect_number(recorded().metrics["mmlu"], "acc,none", all.acc.value, "mmlu");
  expect_number(recorded().metrics["mmlu"], "acc_stderr,none", *all.acc.error, "mmlu");
}

// python3 -c 'import random; r = random.Random(1234); print(r.sample(range(30), 3), ...)'
TEST(PythonRandom, DrawsAsPythonDoes) {
  PythonRandom random(1234);
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(random.sample(30, 3), (Numbers{24, 14, 3}));
  EXPECT_EQ(random.sample(10, 4), (Numbers{0, 1, 9, 5}));
  EXPECT_EQ(random.sample(100000, 6), (Numbers{90844, 11001, 12900, 46482, 31039, 2284}));
  EXPECT_EQ(random.sample(84, 6), (Numbers{3, 2, 44, 79, 61, 78}));
  EXPECT_EQ(random.sample(1, 1), (Numbers{0}));
}

TEST(PythonText, StripsCountsAndCapitalises) {
  EXPECT_EQ(stripped("\u00a0\t a b\u3000\x1f\n"), "a b");
  EXPECT_EQ(left_stripped("\u2003x "), "x ");
  EXPECT_EQ(right_stripped("\u2003\u2003"), "");
  EXPECT_EQ(count_characters("a\u00e9\u6771\U0001F600"), 4u);
  EXPECT_EQ(capitalized("\u00e9CLAIR \u0130X"), "\u00c9clair i\u0307x");
  EXPECT_EQ(capitalized("\ufb01NE"), "Fine");
  EXPECT_EQ(capitalized("\u01c6A"), "\u01c5a");
  EXPECT_EQ(capitalized("\u03a3\u0391"), "\u03a3\u03b1");
  EXPECT_EQ(capitalized("a\u03a3"), std::nullopt);
}

TEST(HellaswagText, IsCleanedAsByLmEval) {
  EXPECT_EQ(clean_hellaswag(" a [title] b [step] c    d "), "a. b c  d");
  EXPECT_EQ(clean_hellaswag("[a [b] c] [d\ne]"), " c] [d\ne]");
  EXPECT_EQ(clean_hellaswag("x ["), "x [");
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

class TaskFolder : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "piqa"); }
  void put(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(overwrite_text(folder_ / name, text));
  }
  std::string load(std::int64_t shots = 0) const {
    return test::error_or_none([&] { load_task(find_tasks({"piqa"}).tasks[0], folder_.path(), shots); });
  }
  test::TempFolder folder_;
};

constexpr const char* good = R"({"goal": "g", "sol1": "a", "sol2": "b", "label": 1})";

TEST_F(TaskFolder, WrongRowsAreRefusedWithFileLineAndColumn) {
  const std::string file = "piqa/validation.jsonl";
  expect_in(load(), "piqa/validation.jsonl: is not there, nor is validation.parquet");
  put(file, "\n");
  expect_in(load(), "piqa/validation.jsonl: has no row");
  put(file, fmt::format("{}\n\n{}\n", good, R"({"goal": "g", "sol1": "a", "label": 1})"));
  expect_in(load(), "piqa/validation.jsonl:3: sol2 is missing; expected");
  put(file, R"({"goal": "g", "sol1": "a", "sol2": "b", "label": 2})");
  expect_in(load(), "validation.jsonl:1: label is 2; expected an integer of 0 to 1");
  put(file, "[1]");
  expect_in(load(), "validation.jsonl:1: expected an object with the dataset's columns");
  put(file, std::string(good) + "\n{");
  expect_in(load(), "validation.jsonl:2: no valid JSON");
  put(file, good);
  expect_in(load(1), "piqa/train.jsonl: is not there");
  put("piqa/train.jsonl", good);
  expect_in(load(1), "train.jsonl: has 1 rows; --shots 1 needs 2");
  EXPECT_EQ(load(), "");
}

TEST_F(TaskFolder, ChoicesThatCannotBeAskedAreRefusedWithTheirPlace) {
  put("piqa/validation.jsonl", good);
  const LoadedTask task = load_task(find_tasks({"piqa"}).tasks[0], folder_.path(), 0);
  const auto tokenizer = small_tokenizer();
  ItemEncoder encoder(*tokenizer);
  expect_in(test::error_of([&] { encoder.encode(task.items[0], 0); }),
            "validation.jsonl:1: choice 0 has 1 tokens; expected at most the window of 0");
}

TEST_F(TaskFolder, OwnTasksAppendChoicesAsTheyStand) {
  put("own.yaml", "name: own\npath: rows.jsonl\ncontext: q\nchoices: c\ngold: g\n");
  put("rows.jsonl", R"({"q": "1+1=", "c": ["3", "2"], "g": 1})");
  const LoadedTask task = load_own_task(folder_ / "own.yaml");
  ASSERT_EQ(task.items.size(), 1u);
  EXPECT_EQ(task.items[0].context(1), "1+1=");
  EXPECT_EQ(task.items[0].continuation(1), "2");
  EXPECT_EQ(task.items[0].gold, 1u);
  const auto own = [&] { return test::error_of([&] { load_own_task(folder_ / "own.yaml"); }); };
  put("rows.jsonl", R"({"q": "1+1=", "c": ["3", ""], "g": 1})");
  expect_in(own(), "rows.jsonl:1: c is [\"3\",\"\"]; expected texts, none of them empty");
  put("rows.jsonl", R"({"q": "1+1=", "c": ["3"], "g": 1})");
  expect_in(own(), "rows.jsonl:1: g is 1; expected an integer of 0 to 0");
  put("own.yaml", "name: own\npath: rows.jsonl\ncontext: q\nchoice: c\n");
  expect_in(own(), "own.yaml:4");
  put("own.yaml", "name: a/b\npath: rows.jsonl\ncontext: q\nchoices: c\ngold: g\n");
  expect_in(own(), "name is \"a/b\"");
}

// Results of the columns that a task named before are not those of the ones that it names now.
TEST_F(TaskFolder, OtherColumnsAreOtherDataOfAnOwnTask) {
  put("rows.jsonl", R"({"q": "a", "p": "a", "c": ["3", "2"], "d": ["3", "2"], "g": 1, "h": 1})");
  const auto fingerprint = [&](const char* columns) {
    put("own.yaml", fmt::format("name: own\npath: rows.jsonl\n{}\n", columns));
    return load_own_task(folder_ / "own.yaml").fingerprint;
  };
  const std::uint64_t first = fingerprint("context: q\nchoices: c\ngold: g");
  EXPECT_EQ(fingerprint("gold: g\nchoices: c\ncontext: q"), first);
  EXPECT_NE(fingerprint("context: p\nchoices: c\ngold: g"), first);
  EXPECT_NE(fingerprint("context: q\nchoices: d\ngold: g"), first);
  EXPECT_NE(fingerprint("context: q\nchoices: c\ngold: h"), first);
}

TEST_F(TaskFolder, DoneTasksAreFoundAgainWithTheSameModelAndData) {
  put("piqa/validation.jsonl", good);
  const LoadedTask task = load_task(find_tasks({"piqa"}).tasks[0], folder_.path(), 0);
  const LogLikelihoods scores{{-1.0 / 3, -2.5}};
  const nlohmann::ordered_json model{{"model", "a"}};
  DoneTasks(folder_.path()).add(task, model, scores);
  EXPECT_EQ(DoneTasks(folder_.path()).find(task, model), scores);
  EXPECT_EQ(DoneTasks(folder_.path()).find(task, {{"model", "b"}}), std::nullopt);
  EXPECT_EQ(*read_text_file(folder_ / "samples_piqa.jsonl"),
            "{\"doc_id\":0,\"loglikelihoods\":[-0.3333333333333333,-2.5],\"gold\":1,\"acc\":0.0,\"acc_norm\":0.0,"
            "\"acc_bytes\":0.0}\n");
  put("samples_piqa.jsonl", "");
  EXPECT_EQ(DoneTasks(folder_.path()).find(task, model), std::nullopt);
  EXPECT_EQ(DoneTasks("").find(task, model), std::nullopt);
}

TEST_F(TaskFolder, ABegunTaskHasItsWholeRowsOfTheSameModel) {
  put("piqa/validation.jsonl", fmt::format("{0}\n{0}\n{0}\n{0}\n", good));
  const LoadedTask task = load_task(find_tasks({"piqa"}).tasks[0], folder_.path(), 0);
  const LogLikelihoods rows{{-1.0 / 3, -2.5}, {-1, -2}, {-3, -4}, {-5, -6}};
  const nlohmann::ordered_json a{{"model", "a"}}, b{{"model", "b"}};
  const auto before = [&](const nlohmann::ordered_json& model) {
    return BegunTask(folder_.path(), task, model).before();
  };
  const auto first = [&](std::size_t n) {
    return LogLikelihoods(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n));
  };
  EXPECT_TRUE(before(a).empty());
  BegunTask begun(folder_.path(), task, a);
  begun.add(first(2), 0);
  begun.add({rows[2], rows[3]}, 2);
  EXPECT_EQ(before(a), rows);
  EXPECT_TRUE(before(b).empty());
  const std::string name = "samples_piqa.jsonl.part", whole = *read_text_file(folder_ / name);
  for (std::size_t size = 0; size < whole.size(); ++size) {  // wherever a write was torn
    put(name, whole.substr(0, size));
    const auto lines = static_cast<std::size_t>(std::ranges::count(whole.substr(0, size), '\n'));
    ASSERT_EQ(before(a), first(lines == 0 ? 0 : lines - 1)) << size;
  }
  BegunTask again(folder_.path(), task, a);
  ASSERT_EQ(again.before(), first(3));
  again.add({rows[1]}, 1);  // what was asked with the rest is asked again
  EXPECT_EQ(before(a), first(2));
  again.add({rows[2], rows[3]}, 2);
  EXPECT_EQ(before(a), rows);
  again.done();
  EXPECT_TRUE(before(a).empty());
  EXPECT_FALSE(fs::exists(folder_ / name));
}

// An error of the disk is no folder without results, which would be written anew.
TEST_F(TaskFolder, WhatIsThereAndCannotBeReadIsRefused) {
  put("piqa/validation.jsonl", good);
  const LoadedTask task = load_task(find_tasks({"piqa"}).tasks[0], folder_.path(), 0);
  const nlohmann::ordered_json model{{"model", "a"}};
  DoneTasks(folder_.path()).add(task, model, {{-1, -2}});
  const auto refused = [&](const std::string& name, const std::function<void()>& call) {
    fs::remove(folder_ / name);
    fs::create_directory(folder_ / name);
    expect_in(test::error_of(call), name + ": cannot be read: Is a directory");
  };
  refused("samples_piqa.jsonl", [&] { DoneTasks(folder_.path()).find(task, model); });
  refused("samples_piqa.jsonl.part", [&] { const BegunTask begun(folder_.path(), task, model); });
  refused("tasks.json", [&] { const DoneTasks done(folder_.path()); });
}

TEST(TaskNames, UnknownOnesAreToldTheNearest) {
  expect_in(test::error_of([] { find_tasks({"hellaswagg"}); }), "unknown task \"hellaswagg\"; did you mean hellaswag?");
  const TaskSelection mmlu = find_tasks({"mmlu_stem", "mmlu", "piqa", "piqa", "mmlu_anatomy"});
  EXPECT_EQ(mmlu.tasks.size(), 58u);
  ASSERT_EQ(mmlu.groups.size(), 5u);
  EXPECT_EQ(mmlu.groups[0].name, "mmlu");
  EXPECT_EQ(mmlu.groups[0].tasks.size(), 57u);
}

TEST(Accuracy, FirstOfEqualsCountsAndLengthsDivide) {
  const TaskItem item{
      .contexts = {"c"}, .continuations = {" a", " \u00e9\u00e9"}, .choices = {"a", "\u00e9\u00e9"}, .gold = 1};
  EXPECT_FALSE(judge(item, std::vector{-1.0, -1.0}).acc);
  EXPECT_TRUE(judge(item, std::vector{-1.0, -1.5}).acc_norm);
  EXPECT_FALSE(judge(item, std::vector{-1.0, -2.0}).acc_norm);
  EXPECT_TRUE(judge(item, std::vector{-1.0, -3.9}).acc_bytes);
  EXPECT_EQ(accuracy_of({true}).error, std::nullopt);
  const auto results = task_results_json({{.name = "t", .acc = accuracy_of({true})}}, {});
  EXPECT_EQ(results["results"]["t"]["acc,none"], 1.0);
  EXPECT_EQ(results["results"]["t"]["acc_stderr,none"], "N/A");
  EXPECT_TRUE(results["results"]["t"]["acc_stderr"].is_null());
}

}  // namespace
}  // namespace octet
