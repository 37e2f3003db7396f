// octet-evaluate --tasks, the whole program with its files: the same results in every layout, and of an evaluation that
// ended within a task.
#include <optional>

#include "src/evaluate/tasks/mmlu_subjects.h"
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// own.yaml: questions whose contexts are longer than the model's window, so that many tokens are asked for and few are
/// computed: some 210 are asked at once.
std::string own_task() {
  static const bool written = [] {
    const std::string text = simple_text();
    std::string rows;
    for (std::size_t i = 0; i < 600; ++i) {
      nlohmann::json row{{"q", text.substr(i * 37, 300)}, {"gold", i % 4}};
      for (std::size_t c = 0; c < 4; ++c) row["choices"].push_back(text.substr(i * 41 + c * 9, 5 + (i + c) % 7));
      rows += row.dump() + "\n";
    }
    write_bytes(workplace() / "rows.jsonl", rows);
    write_bytes(workplace() / "own.yaml", "name: own\npath: rows.jsonl\ncontext: q\nchoices: choices\ngold: gold\n");
    return true;
  }();
  (void)written;
  return " --tasks own.yaml";
}

/// piqa below the folder datasets.
std::string known_task(const std::string& more = "") {
  const std::string text = simple_text();
  for (const char* part : {"validation", "train"}) {
    std::string rows;
    for (std::size_t i = 0; i < 30; ++i) {
      rows += nlohmann::json{{"goal", text.substr(i * 50, 9)},
                             {"sol1", text.substr(i * 31 + 7, 4 + i % 5)},
                             {"sol2", text.substr(i * 17, 9 - i % 5)},
                             {"label", i % 2}}
                  .dump() +
              "\n";
    }
    write_bytes(workplace() / fmt::format("datasets/piqa/{}.jsonl", part), rows);
  }
  return ",piqa" + more + " --task-data datasets --shots 1";
}

std::string command(const std::string& arguments, const std::string& output) {
  static const TrainedRun& run = finished(1, "--checkpoint.interval auto");
  return octet_evaluate + run.directory + own_task() + arguments + " --output evaluated/" + output;
}

/// Of a run of the program that ended well.
struct Written {
  std::string results, own, piqa;

  explicit Written(const std::string& output) {
    const fs::path folder = workplace() / ("evaluated/" + output);
    if (fs::exists(folder / "results.json")) results = read_bytes(folder / "results.json");
    own = read_bytes(folder / "samples_own.jsonl");
    if (fs::exists(folder / "samples_piqa.jsonl")) piqa = read_bytes(folder / "samples_piqa.jsonl");
  }
  bool operator==(const Written&) const = default;
};

Written evaluated(const std::string& arguments, const std::string& output, int ranks = 1) {
  const std::string launcher = ranks > 1 ? fmt::format("mpiexec -n {} ", ranks) : "";
  const CommandResult r = in_workplace(launcher + command(arguments, output));
  EXPECT_EQ(r.exit_code, 0) << r.all();
  return Written(output);
}

std::vector<double> likelihoods(const std::string& samples) {
  std::vector<double> all;
  std::istringstream lines(samples);
  for (std::string line; std::getline(lines, line);) {
    const auto sample = nlohmann::json::parse(line);
    for (const double value : sample["loglikelihoods"]) all.push_back(value);
  }
  return all;
}

TEST(EvaluateTasks, AnyNumberOfRanksGivesTheResultsOfOne) {
  const std::string tasks = known_task() + " --precision fp32";
  const Written alone = evaluated(tasks, "one");
  EXPECT_EQ(likelihoods(alone.own).size(), 600u * 4);
  EXPECT_EQ(likelihoods(alone.piqa).size(), 30u * 2);
  for (const int ranks : {2, 3}) {
    EXPECT_TRUE(evaluated(tasks, fmt::format("dp-{}", ranks), ranks) == alone) << ranks;
  }
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    const Written cut = evaluated(tasks + " --tp 2", fmt::format("tp-{}", ranks), ranks);
    EXPECT_LT(distance(likelihoods(cut.own), likelihoods(alone.own)), 1e-5);
    EXPECT_LT(distance(likelihoods(cut.piqa), likelihoods(alone.piqa)), 1e-5);
    const auto a = nlohmann::json::parse(cut.results), b = nlohmann::json::parse(alone.results);
    EXPECT_NEAR(a["results"]["own"]["acc"].get<double>(), b["results"]["own"]["acc"].get<double>(), 1e-5);
  }
}

/// The folder of an evaluation that ended within a task, as a kill in the middle of a write leaves it.
class EndedEvaluation : public testing::TestWithParam<int> {
 protected:
  void end_early(const std::string& name) {
    whole_.emplace(evaluated("", name, GetParam()));
    name_ = name;
    const std::string folder = workplace() / ("evaluated/" + name);
    const auto done = nlohmann::ordered_json::parse(read_bytes(folder + "/tasks.json"));
    for (const char* file : {"/tasks.json", "/samples_own.jsonl", "/results.json"}) fs::remove(folder + file);
    part_ = folder + "/samples_own.jsonl.part";
    // In the second of three parts of the task.
    write_bytes(part_, done["own"].dump() + "\n" + whole_->own.substr(0, whole_->own.size() / 2));
  }
  CommandResult go_on(const std::string& arguments = "") const {
    const std::string launcher = GetParam() > 1 ? fmt::format("mpiexec -n {} ", GetParam()) : "";
    CommandResult r = in_workplace(launcher + command(arguments, name_));
    EXPECT_EQ(r.exit_code, 0) << r.all();
    return r;
  }
  /// Changes what was kept of a question.
  void tamper(std::size_t question) {
    std::string text = read_bytes(part_);
    std::size_t at = text.find(fmt::format("{{\"doc_id\":{},", question));
    at = text.find("[-", at) + 2;
    text[at] = text[at] == '9' ? '8' : '9';
    write_bytes(part_, text);
  }
  std::optional<Written> whole_;
  std::string part_, name_;
};

TEST_P(EndedEvaluation, GoesOnToTheSameBits) {
  end_early(fmt::format("ended-{}", GetParam()));
  const CommandResult r = go_on();
  EXPECT_HAS(r.err, " of 600 questions were scored before");
  EXPECT_TRUE(Written(name_) == *whole_);
  EXPECT_FALSE(fs::exists(part_));
  EXPECT_HAS(go_on().err, "own: done before");
}

// What was whole is not asked again; what was begun is, with all that belongs to it.
TEST_P(EndedEvaluation, KeepsWhatItHas) {
  end_early(fmt::format("tampered-{}", GetParam()));
  tamper(0);
  go_on();
  const auto found = likelihoods(Written(name_).own), expected = likelihoods(whole_->own);
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_NE(found[0], expected[0]);
  EXPECT_TRUE(std::equal(found.begin() + 1, found.end(), expected.begin() + 1));
  fs::remove_all(workplace() / ("evaluated/" + name_));
  end_early(name_);
  tamper(250);
  go_on();
  EXPECT_TRUE(Written(name_) == *whole_);
}

TEST_P(EndedEvaluation, BeginsAnewWithAnotherModelOrOtherData) {
  end_early(fmt::format("changed-{}", GetParam()));
  const CommandResult r = go_on(" --precision fp32");
  EXPECT_HAS(r.err, "is of another model, layout, tokenizer or data: the task begins anew");
  EXPECT_TRUE(Written(name_) == evaluated(" --precision fp32", name_ + "-other"));
  fs::remove(workplace() / ("evaluated/" + name_ + "/results.json"));  // else it is refused
  EXPECT_HAS(go_on().err, "has it of another model, layout, tokenizer or data: it is asked anew");
  EXPECT_TRUE(Written(name_) == *whole_);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EndedEvaluation, testing::Values(1, 2));

/// Twelve short questions of the folder, in columns of two names each: FOLDER/own.yaml names them.
void write_short_task(const std::string& folder, const std::string& name = "own", const std::string& choices = "c") {
  std::string rows;
  for (int i = 0; i < 12; ++i) {
    rows += fmt::format(R"({{"q": "the {}", "c": ["house", "of"], "d": ["and", "night"], "g": {}}})", i, i % 2) + "\n";
  }
  write_bytes(workplace() / (folder + "/short.jsonl"), rows);
  write_bytes(workplace() / (folder + "/own.yaml"),
              fmt::format("name: {}\npath: short.jsonl\ncontext: q\nchoices: {}\ngold: g\n", name, choices));
}

CommandResult ask(const std::string& arguments, int ranks = 1) {
  const std::string launcher = ranks > 1 ? fmt::format("mpiexec -n {} ", ranks) : "";
  return in_workplace(launcher + octet_evaluate + saved_run().directory + " " + arguments);
}

/// The 57 subjects of MMLU below the folder datasets, of one to four questions each.
void write_mmlu() {
  const std::string text = simple_text();
  std::size_t next = 0;
  for (const MmluPart& part : mmlu_parts()) {
    for (const std::string_view subject : part.subjects) {
      std::string rows;
      for (std::size_t i = 0; i <= next % 4; ++i) {
        rows += nlohmann::json{{"question", text.substr(next * 90 + i * 20, 12)},
                               {"choices", {"of", "the", "was", "and"}},
                               {"answer", (next + i) % 4}}
                    .dump() +
                "\n";
      }
      for (const char* split : {"test", "dev"}) {
        write_bytes(workplace() / fmt::format("datasets/mmlu/{}/{}.jsonl", subject, split), rows);
      }
      ++next;
    }
  }
}

/// A model that has learnt less.
std::string less_trained() {
  return finished(1, "--train.steps 2 --checkpoint.interval auto").directory;
}

// A script computes the differences and their intervals again, from the samples.
TEST(EvaluateTasks, ComparesTwoModelsQuestionByQuestion) {
  write_mmlu();
  const std::string tasks = known_task(",mmlu") + " --limit 100 --precision fp32";
  const std::string comparing = tasks + " --bootstrap 50 --seed 5 --compare " + less_trained();
  const Written alone = evaluated(tasks, "first-alone"), first = evaluated(comparing, "both", 2);
  const std::string folder = workplace() / "evaluated/both";
  const CommandResult again =
      run_command("python3 " OCTET_SOURCE_DIR "/tests/evaluate/paired_differences.py " + folder);
  EXPECT_EQ(again.exit_code, 0) << again.all();
  EXPECT_EQ(again.out, "64\n");  // three of piqa and of own, and acc of mmlu and of its subjects
  auto both = nlohmann::json::parse(first.results);
  EXPECT_NE(both["difference"]["own"]["acc_norm"], 0.0);
  // What the model's own results are does not depend on the comparison, nor the other's.
  ASSERT_EQ(
      in_workplace(octet_evaluate + less_trained() + own_task() + tasks + " --output evaluated/other-alone").exit_code,
      0);
  const Written other = Written("other-alone"), compared = Written("both/compare");
  EXPECT_EQ(first.own, alone.own);
  EXPECT_EQ(compared.own, other.own);
  EXPECT_EQ(compared.piqa, other.piqa);
  EXPECT_NE(compared.own, alone.own);
  auto its = nlohmann::json::parse(other.results);
  its.erase("limit");
  its.erase("evaluation");
  EXPECT_EQ(both["compare"], its);
  for (const char* key : {"bootstrap", "compare", "difference"}) EXPECT_EQ(both.erase(key), 1u) << key;
  EXPECT_EQ(both["evaluation"].erase("compare") + both["evaluation"].erase("bootstrap"), 2u);
  EXPECT_EQ(both, nlohmann::json::parse(alone.results));
}

TEST(EvaluateTasks, AComparisonGoesOnWithinTheOtherModel) {
  const std::string folder = workplace() / "evaluated/resumed", comparing = " --compare " + less_trained();
  const Written whole = evaluated(comparing, "resumed");
  const std::string samples = read_bytes(folder + "/compare/samples_own.jsonl");
  const auto done = nlohmann::ordered_json::parse(read_bytes(folder + "/compare/tasks.json"));
  fs::remove(folder + "/compare/tasks.json");
  fs::remove(folder + "/compare/samples_own.jsonl");
  write_bytes(folder + "/compare/samples_own.jsonl.part",
              done["own"].dump() + "\n" + samples.substr(0, samples.size() / 2));
  const CommandResult r = in_workplace(command(comparing, "resumed"));
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_EQ(occurrences(r.err, "own: done before"), 1);
  EXPECT_EQ(occurrences(r.err, " of 600 questions were scored before"), 1);
  EXPECT_TRUE(Written("resumed") == whole);
  EXPECT_EQ(read_bytes(folder + "/compare/samples_own.jsonl"), samples);
  EXPECT_EQ(occurrences(in_workplace(command(comparing, "resumed")).err, "own: done before"), 2);
}

TEST(EvaluateTasks, WhatIsWrongWithTheOtherModelIsFoundBeforeAnyIsAsked) {
  own_task();
  const CommandResult r = ask("--tasks own.yaml --compare nothing --output evaluated/no-other", 2);
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(occurrences(r.err, "nothing: is no folder; expected that of a model"), 1);
}

TEST(EvaluateTasks, AnOwnTaskIsAskedAnewWhereItNamesOtherColumns) {
  const std::string arguments = "--tasks 'with blanks/own.yaml' --output evaluated/columns";
  write_short_task("with blanks");
  ASSERT_EQ(ask(arguments).exit_code, 0);
  const auto first = likelihoods(Written("columns").own);
  EXPECT_HAS(ask(arguments).err, "own: done before");
  write_short_task("with blanks", "own", "d");
  const CommandResult refused = ask(arguments);
  EXPECT_EQ(refused.exit_code, 64) << refused.all();
  EXPECT_HAS(refused.err, "evaluated/columns/results.json: has results of ");
  EXPECT_HAS(refused.err, "that would be replaced: its evaluation.results.own.data is ");
  EXPECT_EQ(likelihoods(Written("columns").own), first);
  fs::remove(workplace() / "evaluated/columns/results.json");
  const CommandResult again = ask(arguments);
  EXPECT_HAS(again.err, "it is asked anew");
  const auto second = likelihoods(Written("columns").own);
  ASSERT_EQ(second.size(), first.size());
  EXPECT_NE(second[0], first[0]);
}

// What a run makes of a checkpoint later, or a copy of one, are the same weights.
TEST(EvaluateTasks, ACopyOfTheModelIsTheSameModel) {
  write_short_task("copied");
  const std::string arguments = " --tasks copied/own.yaml --output evaluated/copied";
  ASSERT_EQ(ask(arguments).exit_code, 0);
  ASSERT_EQ(in_workplace("cp -r " + saved_run().directory + " copied-run").exit_code, 0);
  const CommandResult again = in_workplace(octet_evaluate + std::string("copied-run") + arguments);
  EXPECT_EQ(again.exit_code, 0) << again.all();
  EXPECT_HAS(again.err, "done before");
}

TEST(EvaluateTasks, ALimitAsksTheFirstQuestionsAlone) {
  const Written all = evaluated(" --precision fp32", "limit-all"),
                few = evaluated(" --precision fp32 --limit 50", "few");
  const auto expected = likelihoods(all.own), found = likelihoods(few.own);
  ASSERT_EQ(found.size(), 50u * 4);
  EXPECT_LT(distance(found, {expected.begin(), expected.begin() + 200}), 1e-5);
  const auto json = nlohmann::json::parse(few.results);
  EXPECT_EQ(json["n-samples"]["own"], nlohmann::json({{"original", 600}, {"effective", 50}}));
  EXPECT_EQ(json["limit"], 50);
  EXPECT_EQ(json["results"]["own"]["sample_len"], 50);
  const CommandResult refused = in_workplace(command(" --precision fp32", "few"));
  EXPECT_EQ(refused.exit_code, 64) << refused.all();
  EXPECT_HAS(refused.err, "its evaluation.limit is 50, and this evaluation's null; expected another folder");
  fs::remove(workplace() / "evaluated/few/results.json");
  const CommandResult more = in_workplace(command(" --precision fp32", "few"));
  EXPECT_HAS(more.err, "it is asked anew");
  EXPECT_EQ(likelihoods(Written("few").own), expected);
}

TEST(EvaluateTasks, SaysHowManyQuestionsLostTokensAtTheirLeft) {
  write_short_task("short");
  const CommandResult r = in_workplace(command(",short/own.yaml", "cut"));
  EXPECT_EQ(r.exit_code, 64);
  EXPECT_HAS(r.err, "short/own.yaml: name is \"own\", as that of another task or group; expected each once");
  write_short_task("short", "short");
  const CommandResult cut = in_workplace("mpiexec -n 2 " + command(",short/own.yaml --limit 20", "cut"));
  ASSERT_EQ(cut.exit_code, 0) << cut.all();
  EXPECT_EQ(occurrences(cut.err, "own: 20 of 20 questions lost tokens at their left, to fit into the window of 32"), 1);
  EXPECT_EQ(occurrences(cut.err, "lost tokens at their left"), 1);
  const auto results = nlohmann::json::parse(Written("cut").results)["results"];
  EXPECT_EQ(results["own"]["cut_at_left"], 20);
  EXPECT_EQ(results["short"]["cut_at_left"], 0);
}

// A model that may see far more than questions are long.
TEST(EvaluateTasks, RowsAreNoLongerThanTheQuestionsNeed) {
  write_short_task("rows", "short");
  own_task();
  const auto memory = [](const std::string& arguments) {
    const CommandResult r = ask("--limit 20 --tasks " + arguments);
    EXPECT_EQ(r.exit_code, 0) << r.all();
    const std::size_t at = r.err.find("memory: ");
    return r.err.substr(at, r.err.find('\n', at) - at);
  };
  EXPECT_HAS(memory("rows/own.yaml --window 100000"), "memory: ");
  EXPECT_EQ(memory("rows/own.yaml --window 100000"), memory("rows/own.yaml --window 512"));
  // Behind a task of short questions the long ones have as much room as alone.
  const std::string both = "rows/own.yaml,own.yaml --output evaluated/rows-";
  const std::string large = memory(both + "large --window 100000");
  EXPECT_EQ(large, memory(both + "small --window 512"));
  // What the device holds of a row's questions ("data") is more where many short ones share one.
  const auto of_model = [](const std::string& text) { return text.substr(0, text.find(", data ")); };
  EXPECT_EQ(of_model(large), of_model(memory("own.yaml --window 512 --output evaluated/rows-alone")));
  const auto expected = likelihoods(Written("rows-alone").own);
  EXPECT_EQ(expected.size(), 20u * 4);
  for (const char* output : {"rows-large", "rows-small"}) EXPECT_EQ(likelihoods(Written(output).own), expected);
  EXPECT_EQ(nlohmann::json::parse(Written("rows-large").results)["results"]["own"]["cut_at_left"], 0);
}

TEST(EvaluateTasks, AChoiceThatCannotBeAskedIsFoundBeforeAnyIs) {
  write_short_task("long", "long");
  std::string rows = read_bytes(workplace() / "long/short.jsonl");
  rows += nlohmann::json{{"q", "the 12"}, {"c", {"of", std::string(40, 'a')}}, {"g", 0}}.dump() + "\n";
  write_bytes(workplace() / "long/short.jsonl", rows);
  own_task();
  const CommandResult r = ask("--tasks own.yaml,long/own.yaml --output evaluated/long", 2);
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(occurrences(r.err, "long/short.jsonl:13: choice 1 has 40 tokens; expected at most the window of 32"), 1);
  EXPECT_TRUE(fs::is_empty(workplace() / "evaluated/long"));
}

TEST(EvaluateTasks, RefusesInOneMessage) {
  const auto refused = [](const std::string& arguments, const std::string& message) {
    const CommandResult r = ask(arguments);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(occurrences(r.err, message), 1) << r.err;
  };
  own_task();
  known_task();
  refused("--tasks piqa", "--tasks piqa: no --task-data; expected the folder of the datasets");
  refused("--tasks own.yaml --shots 2", "--shots 2: own tasks have no examples");
  refused("--tasks own.yaml --task-data datasets", "--task-data changes nothing here: own tasks name their files");
  refused("--tasks 'own.yaml, own.yaml'", "own.yaml: name is \"own\", as that of another task or group");
  refused("--tasks own.yaml,", "--tasks is \"own.yaml,\"; expected names between commas");
  refused("--tasks own.yaml --seed 3", "--seed changes nothing here: it is for --data, --text and --compare");
  refused("--tasks own.yaml --stride 3 --compare data", "--stride changes nothing here: it is for --data and --text");
  refused("--data data/text --limit 3", "--limit changes nothing here: it is for --tasks");
  write_short_task("group", "mmlu_stem");
  refused("--tasks mmlu,group/own.yaml --task-data datasets",
          "group/own.yaml: name is \"mmlu_stem\", as that of another task or group; expected each once");
}

nlohmann::json results_of(const std::string& output) {
  return nlohmann::json::parse(read_bytes(workplace() / ("evaluated/" + output + "/results.json")));
}

// In any order, compared or not: what the folder has of the same models stays.
TEST(EvaluateTasks, AFolderKeepsTheResultsOfSeveralEvaluations) {
  write_short_task("kept-a", "a");
  write_short_task("kept-b", "b", "d");
  const std::string output = " --output evaluated/kept", text = "--text text/simple.txt --documents 2";
  const auto well = [&](const std::string& arguments, int ranks = 1) {
    const CommandResult r = ask(arguments + output, ranks);
    EXPECT_EQ(r.exit_code, 0) << r.all();
  };
  well("--tasks kept-a/own.yaml");
  const auto first = results_of("kept");
  well(text, 2);
  well("--tasks kept-b/own.yaml --compare " + less_trained());
  const auto all = results_of("kept");
  well("--tasks kept-a/own.yaml");
  EXPECT_EQ(results_of("kept"), all);
  for (const char* name : {"a", "b", "text"}) EXPECT_TRUE(all["results"].contains(name)) << name;
  EXPECT_EQ(all["results"]["a"], first["results"]["a"]);
  EXPECT_EQ(all["n-samples"].size(), 2u);
  EXPECT_TRUE(all["difference"].contains("b"));
  EXPECT_FALSE(all["difference"].contains("a"));
  EXPECT_TRUE(all.contains("before_each_document"));
}

TEST(EvaluateTasks, AFolderOfAnotherEvaluationIsRefusedAndStaysAsItIs) {
  write_short_task("refusing", "a");
  const std::string folder = workplace() / "evaluated/refusing", output = " --output evaluated/refusing",
                    text = "--text text/simple.txt --documents 2", task = "--tasks refusing/own.yaml";
  ASSERT_EQ(ask(task + " --compare " + less_trained() + output).exit_code, 0);
  ASSERT_EQ(ask(text + output).exit_code, 0);
  const std::string results = read_bytes(folder + "/results.json"), documents = read_bytes(folder + "/documents.jsonl");
  const auto refused = [&](const std::string& arguments, const std::string& message, const std::string& model = "") {
    const CommandResult r = in_workplace("mpiexec -n 2 " + octet_evaluate +
                                         (model.empty() ? saved_run().directory : model) + " " + arguments + output);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(r.out, "") << "a model was evaluated";
    EXPECT_EQ(occurrences(r.err, message), 1) << r.err;
    EXPECT_EQ(read_bytes(folder + "/results.json"), results);
    EXPECT_EQ(read_bytes(folder + "/documents.jsonl"), documents);
  };
  refused(text, "its evaluation.model.files is ", less_trained());
  refused(task, "its evaluation.model.files is ", less_trained());
  refused(text + " --precision fp32", "its evaluation.model.model is ");
  refused(text + " --stride 8",
          "its evaluation.results.text.stride is 32, and this evaluation's 8; expected another folder in --output, or "
          "--overwrite");
  refused("--data data/text", "its evaluation.documents is \"text\", and this evaluation's \"data\"");
  refused(task + " --compare " + saved_run().directory, "its evaluation.compare.files is ");
  write_bytes(folder + "/results.json", "{}");
  const CommandResult unknown = ask(task + output);
  EXPECT_EQ(unknown.exit_code, 64) << unknown.all();
  EXPECT_HAS(unknown.err, "results.json: does not say which evaluation its results are of");
  write_bytes(folder + "/results.json", R"({"model": 7, "evaluation": {"model": "another"}})");
  EXPECT_HAS(ask(task + output).err, "results.json: has results of a model in some precision that would be replaced");
  const CommandResult replaced = ask(task + output + " --overwrite");
  EXPECT_EQ(replaced.exit_code, 0) << replaced.all();
  EXPECT_FALSE(results_of("refusing")["results"].contains("text"));
  std::filesystem::remove(folder + "/results.json");
  fs::create_directories(folder + "/results.json");
  EXPECT_HAS(ask(text + output).err, "results.json: cannot be read: ");
}

TEST(EvaluateTasks, WhatCannotBeKeptOrReadIsOneMessage) {
  const auto refused = [](const std::string& name, const std::string& message) {
    fs::remove(workplace() / ("evaluated/refused/" + name));
    fs::create_directories(workplace() / ("evaluated/refused/" + name));
    const CommandResult r = in_workplace(command("", "refused"));
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_EQ(occurrences(r.err, "evaluated/refused/" + name + message), 1) << r.err;
  };
  refused("samples_own.jsonl", ": cannot be written: Is a directory");
  refused("samples_own.jsonl.part", ": cannot be read: Is a directory");
}

}  // namespace
}  // namespace octet::test
