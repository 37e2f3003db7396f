#include "jobs/evaluate/evaluate_tasks.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "jobs/evaluate/text_report.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/seconds_since.h"
#include "src/comm/host_exchange.h"
#include "src/evaluate/tasks/begun_task.h"
#include "src/evaluate/tasks/python_text.h"
#include "src/evaluate/tasks/task_files.h"
#include "src/train/options/sections.h"

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

std::vector<EncodedTask> encode(const Tasks& all, ItemEncoder& encoder, std::int64_t window) {
  std::vector<EncodedTask> out;
  for (const LoadedTask& task : all.tasks) {
    out.push_back(encode_task(task, encoder, window));
    if (out.back().cut == 0) continue;
    log::info("{}: {} of {} questions lost tokens at their left, to fit into the window of {}", task.name,
              out.back().cut, task.items.size(), window);
  }
  return out;
}

/// The files of a model as they are now: size and time of change of each.
Json files_of(const std::string& directory) {
  Json files = Json::object();
  std::vector<std::filesystem::directory_entry> entries;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) entries.push_back(entry);
  }
  std::ranges::sort(entries);
  for (const auto& entry : entries) {
    files[entry.path().filename().string()] = {entry.file_size(), entry.last_write_time().time_since_epoch().count()};
  }
  return files;
}

/// The options of float8 that the model computes with; null in another precision.
Json float8_options(const LlamaSettings& settings) {
  if (settings.precision != Precision::float8) return nullptr;
  Float8Config float8 = settings.float8;
  Schema schema;
  declare_float8(schema, float8);
  Json options;
  for (const Option& option : schema.options()) options[option.name()] = option.text();
  return options;
}

/// What all tasks are computed of.
Json facts_of(const Options& o, const FoundModel& model, const Tokenizer& tokenizer) {
  return {{"model", model.text()},
          {"files", files_of(model.source.directory)},
          {"float8", float8_options(model.settings)},
          {"device", name_of(o.models.device)},
          {"tp", o.models.tp},
          {"row_tokens", o.models.row_tokens},
          {"tokenizer", tokenizer.info().fingerprint},
          {"bos", tokenizer.info().adds_bos},
          {"control_tokens", o.models.control_tokens}};
}

/// What a task is computed of.
Json task_identity(const LoadedTask& task, const Json& model) {
  return {{"model", model}, {"shots", task.shots}, {"data", task.fingerprint}, {"questions", task.items.size()}};
}

/// Which tasks are done, as the first rank finds them in the folder.
std::vector<std::optional<LogLikelihoods>> find_done(const DoneTasks& done, const Tasks& all, const Json& model,
                                                     Communicator& hosts) {
  Json found = Json::array();
  for (const LoadedTask& task : all.tasks) {
    if (log::rank() != 0) break;
    const auto scores = done.find(task, task_identity(task, model));
    found.push_back(scores ? Json(*scores) : Json());
  }
  const Json told = Json::parse(broadcast_bytes(found.dump(), 0, hosts));
  std::vector<std::optional<LogLikelihoods>> out;
  for (const Json& one : told) out.push_back(one.is_null() ? std::nullopt : std::optional(one.get<LogLikelihoods>()));
  return out;
}

/// The first rank finds in the folder what was scored before, and keeps there what comes.
LogLikelihoods ask(const LoadedTask& task, const EncodedTask& encoded, EvaluatedModel& model, BegunTask& begun,
                   Communicator& hosts) {
  const KeptRows kept{
      .before = Json::parse(broadcast_bytes(Json(begun.before()).dump(), 0, hosts)).get<LogLikelihoods>(),
      .add = [&](const LogLikelihoods& rows, std::size_t first) { begun.add(rows, first); }};
  StatusLine status;
  const auto start = StatusLine::Clock::now();
  const std::int64_t all = std::ssize(task.items), before = std::ssize(kept.before);
  std::int64_t all_tokens = 0;
  const auto progress = [&](std::int64_t questions, std::int64_t tokens) {
    all_tokens = tokens;
    if (log::rank() != 0 || !status.due()) return;
    const double seconds = std::max(seconds_since(start), 1e-9);
    const auto now = static_cast<double>(questions - before), to_ask = static_cast<double>(all - before);
    status.show(fmt::format("{}: {} of {} questions, {:.0f} tokens/s{}", task.name, questions, all,
                            static_cast<double>(tokens) / seconds, time_left(now / to_ask, seconds)));
  };
  LogLikelihoods scores =
      score_task(encoded, model.scorer(), tokens_at_once(model.model().row_tokens()), progress, kept);
  status.show("");
  const double seconds = std::max(seconds_since(start), 1e-9);
  log::info("{}: {} questions in {:.2f} s, {:.0f} tokens/s", task.name, scores.size(), seconds,
            static_cast<double>(all_tokens) / seconds);
  return scores;
}

void print(const TaskResult& r) {
  const auto with_error = [](const Accuracy& a) {
    return a.error ? fmt::format("{:.4f} +- {:.4f}", a.value, *a.error) : fmt::format("{:.4f}          ", a.value);
  };
  log::out("{:<38} {:>2}-shot {:>6}   {}   {}", r.name, r.shots, r.acc.questions, with_error(r.acc),
           r.normalised ? with_error(r.acc_norm) : "");
}

}  // namespace

void evaluate_tasks(const Options& o, const Ranks& ranks) {
  const Tasks all = load(o);
  FoundModel found_model(o.model, o.models, ranks.mesh, ranks.stream.device(), ranks.hosts);
  const auto tokenizer =
      tokenizer_of(found_model.source, o.models.tokenizer, {.control_tokens = o.models.control_tokens});
  ItemEncoder encoder(*tokenizer);
  std::vector<EncodedTask> encoded = encode(all, encoder, found_model.window);
  found_model.see_at_most(std::ranges::max_element(encoded, {}, &EncodedTask::longest)->longest);
  const FoundModel& found = found_model;
  EvaluatedModel model(found, ranks.mesh, ranks.stream, ranks.hosts);
  log::out("model          {}", found.text());
  log::out("BOS            {}", encoder.adds_bos() ? fmt::format("{} before each context", *tokenizer->info().bos)
                                                   : "none, as the tokenizer's file has it");
  const Json facts = facts_of(o, found, *tokenizer);
  const std::string folder = log::rank() == 0 ? o.output : "";
  DoneTasks done(folder);
  const auto before = find_done(done, all, facts, ranks.hosts);
  std::vector<TaskResult> results, groups;
  for (std::size_t i = 0; i < all.tasks.size(); ++i) {
    const LoadedTask& task = all.tasks[i];
    const EncodedTask its = std::move(encoded[i]);
    if (before[i]) log::info("{}: done before", task.name);
    if (before[i]) {
      results.push_back(result_of(task, its, *before[i]));
      continue;
    }
    const Json identity = task_identity(task, facts);
    BegunTask begun(folder, task, identity);
    const LogLikelihoods scores = ask(task, its, model, begun, ranks.hosts);
    done.add(task, identity, scores);
    begun.done();
    results.push_back(result_of(task, its, scores));
  }
  for (const TaskGroup& group : all.groups) groups.push_back(result_of(group, results));
  log::out("\n{:<38} {:>7} {:>6}   {:<16}   {}", "task", "", "rows", "acc", "acc_norm");
  for (const TaskResult& result : groups) print(result);
  for (const TaskResult& result : results) print(result);
  log::info("{}", memory_text(ranks.stream.device()));
  if (o.output.empty() || log::rank() != 0) return;
  Json json = task_results_json(results, groups);
  json["model"] = found.source.name();
  json["precision"] = name_of(o.models.precision);
  json["window"] = found.window;
  json["bos"] = encoder.adds_bos();
  json["limit"] = o.limit > 0 ? Json(o.limit) : Json();
  write_result(o.output, "results.json", json.dump(2) + "\n");
  log::info("written: {0}/results.json, {0}/samples_TASK.jsonl", o.output);
}

}  // namespace octet::evaluate
