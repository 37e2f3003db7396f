#include "jobs/evaluate/evaluate_tasks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "jobs/evaluate/ask_tasks.h"
#include "jobs/evaluate/evaluated_facts.h"
#include "jobs/evaluate/results_file.h"
#include "jobs/evaluate/text_report.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/evaluate/expect_same.h"
#include "src/evaluate/tasks/paired_answers.h"
#include "src/evaluate/tasks/python_text.h"
#include "src/evaluate/tasks/task_files.h"

namespace octet::evaluate {
namespace {

struct Tasks {
  std::vector<LoadedTask> tasks;
  std::vector<TaskGroup> groups;
};

/// "a, b,c"
std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string name(stripped(std::string_view(list).substr(at, comma - at)));
    if (name.empty()) throw usage_error("evaluate", "--tasks is \"{}\"; expected names between commas", list);
    names.push_back(std::move(name));
    at = comma + 1;
  }
  return names;
}

/// The user's own, each with a name that nothing else in the results has.
std::vector<LoadedTask> load_own(const std::vector<std::string>& files, const TaskSelection& others) {
  std::vector<LoadedTask> out;
  for (const std::string& yaml : files) {
    LoadedTask task = load_own_task(yaml);
    if (std::ranges::count(out, task.name, &LoadedTask::name) +
            std::ranges::count(others.tasks, task.name, &KnownTask::name) +
            std::ranges::count(others.groups, task.name, &TaskGroup::name) >
        0) {
      throw usage_error("evaluate", "{}: name is \"{}\", as that of another task or group; expected each once", yaml,
                        task.name);
    }
    out.push_back(std::move(task));
  }
  return out;
}

Tasks load(const Options& o) {
  std::vector<std::string> known, own;
  for (const std::string& name : names_in(o.tasks)) {
    (name.ends_with(".yaml") || name.ends_with(".yml") ? own : known).push_back(name);
  }
  if (!known.empty() && o.task_data.empty()) {
    throw usage_error("evaluate", "--tasks {}: no --task-data; expected the folder of the datasets", known[0]);
  }
  if (known.empty() && o.shots > 0) throw usage_error("evaluate", "--shots {}: own tasks have no examples", o.shots);
  if (known.empty() && !o.task_data.empty()) {
    throw usage_error("evaluate", "--task-data changes nothing here: own tasks name their files");
  }
  const TaskSelection selection = find_tasks(known);
  const std::vector<LoadedTask> of_user = load_own(own, selection);
  Tasks out{.tasks = {}, .groups = selection.groups};
  for (const KnownTask& task : selection.tasks) out.tasks.push_back(load_task(task, o.task_data, o.shots));
  out.tasks.insert(out.tasks.end(), of_user.begin(), of_user.end());
  for (LoadedTask& task : out.tasks) {
    if (o.limit > 0) keep_first(task, o.limit);
  }
  return out;
}

/// Before the first rank tells the others what it finds of them in the folder of results.
void expect_same_tasks(const std::vector<LoadedTask>& tasks, Communicator& control) {
  const std::string what = "the ranks have read different tasks";
  expect_same(what, fmt::format("{} tasks", tasks.size()), control);
  for (const LoadedTask& task : tasks) {
    expect_same(
        what,
        fmt::format("{} with {} questions, data with the hash {:016x}", task.name, task.items.size(), task.fingerprint),
        control);
  }
}

void print(const TaskResult& r) {
  const auto with_error = [](const Accuracy& a) {
    return a.error ? fmt::format("{:.4f} +- {:.4f}", a.value, *a.error) : fmt::format("{:.4f}          ", a.value);
  };
  log::out("{:<38} {:>2}-shot {:>6}   {}   {}", r.name, r.shots, r.acc.questions, with_error(r.acc),
           r.normalised ? with_error(r.acc_norm) : "");
}

constexpr const char* difference_row = "{:<46} {:>6}   {:<26}   {:<26}   {}";

void print(const PairedAnswers& pair, const TaskDifference& difference) {
  const auto shown = [](const std::optional<Estimate>& e) {
    if (!e) return std::string();
    if (!e->interval) return fmt::format("{:+.4f}", e->value);
    return fmt::format("{:+.4f} [{:+.4f}, {:+.4f}]", e->value, e->interval->low, e->interval->high);
  };
  log::out(difference_row, pair.name, pair.acc.size(), shown(difference.acc), shown(difference.acc_norm),
           shown(difference.acc_bytes));
}

Json json_of(const PairedAnswers& pair, const TaskDifference& difference) {
  Json json{{"questions", pair.acc.size()}};
  put(json, "acc", difference.acc);
  if (difference.acc_norm) put(json, "acc_norm", difference.acc_norm);
  if (difference.acc_bytes) put(json, "acc_bytes", difference.acc_bytes);
  return json;
}

// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON does not throw
struct Asked {
  std::vector<LogLikelihoods> answers;
  Json json;
};

/// One model: asks it, prints its table and says what belongs into results.json.
Asked ask_model(AskedModel model, const Tasks& all, const std::string& folder, const Ranks& ranks) {
  const FoundModel& found = model.found;
  const TokenizerInfo& info = model.tokenizer->info();
  log::out("model          {}", found.text());
  log::out("BOS            {}",
           info.adds_bos ? fmt::format("{} before each context", *info.bos) : "none, as the tokenizer's file has it");
  Asked out{.answers = ask_tasks(model, all.tasks, folder, ranks), .json = {}};
  std::vector<TaskResult> results, groups;
  for (std::size_t i = 0; i < all.tasks.size(); ++i) {
    results.push_back(result_of(all.tasks[i], model.encoded[i], out.answers[i]));
  }
  for (const TaskGroup& group : all.groups) groups.push_back(result_of(group, results));
  log::out("\n{:<38} {:>7} {:>6}   {:<16}   {}", "task", "", "rows", "acc", "acc_norm");
  for (const TaskResult& result : groups) print(result);
  for (const TaskResult& result : results) print(result);
  out.json = task_results_json(results, groups);
  out.json["model"] = found.source.name();
  out.json["precision"] = name_of(found.options.precision);
  out.json["window"] = found.window;
  out.json["bos"] = info.adds_bos;
  return out;
}

/// The first model less the second, by task and group.
Json compare_answers(const Tasks& all, const Asked& first, const Asked& second, const BootstrapOptions& bootstrap) {
  std::vector<PairedAnswers> pairs, shown;
  for (std::size_t i = 0; i < all.tasks.size(); ++i) {
    pairs.push_back(pair_answers(all.tasks[i], first.answers[i], second.answers[i]));
  }
  for (const TaskGroup& group : all.groups) shown.push_back(pair_answers(group, pairs));
  shown.insert(shown.end(), pairs.begin(), pairs.end());
  log::out("\nthe first less the second, question by question");
  log::out(difference_row, "task", "rows", "acc", "acc_norm", "acc_bytes");
  Json json;
  for (const PairedAnswers& pair : shown) {
    const TaskDifference difference = difference_of(pair, bootstrap);
    print(pair, difference);
    json[pair.name] = json_of(pair, difference);
  }
  return json;
}

Json limit_json(const Options& o) {
  return o.limit > 0 ? Json(o.limit) : Json();
}

/// What the results are of.
Json evaluation_of(const Options& o, const AskedModel& one, const AskedModel* other, const Tasks& all) {
  if (o.output.empty() || log::rank() != 0) return {};  // the first rank alone looks at the folder
  Json evaluation{{"model", facts_of(one.found, *one.tokenizer)}, {"limit", limit_json(o)}};
  if (other != nullptr) {
    evaluation["compare"] = facts_of(other->found, *other->tokenizer);
    evaluation["bootstrap"] = bootstrap_json(o.bootstrap);
  }
  for (const LoadedTask& task : all.tasks) {
    evaluation["results"][task.name] = {
        {"shots", task.shots}, {"data", task.fingerprint}, {"questions", task.items.size()}};
  }
  return evaluation;
}

}  // namespace

void evaluate_tasks(const Options& o, const Ranks& ranks) {
  const Tasks all = load(o);
  expect_same_tasks(all.tasks, ranks.control);
  AskedModel one(o.model, o.models, all.tasks, ranks);
  std::optional<AskedModel> other;
  if (!o.compare.empty()) {
    ModelOptions options = o.models;
    options.precision = o.compare_precision.value_or(options.precision);
    other.emplace(o.compare, options, all.tasks, ranks);
  }
  const ResultsFile file(o.output, o.overwrite, evaluation_of(o, one, other ? &*other : nullptr, all), ranks.control);
  const Asked first = ask_model(std::move(one), all, o.output, ranks);
  Json json = first.json;
  json["limit"] = limit_json(o);
  file.write(json, o.output + "/samples_TASK.jsonl");
  if (!other) return;
  log::out("");
  const Asked second = ask_model(*std::move(other), all, compared_folder(o), ranks);
  json["bootstrap"] = bootstrap_json(o.bootstrap);
  json["compare"] = second.json;
  json["difference"] = compare_answers(all, first, second, o.bootstrap);
  file.write(json, compared_folder(o) + "/samples_TASK.jsonl");
}

}  // namespace octet::evaluate
