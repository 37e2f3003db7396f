#include "src/evaluate/tasks/task_files.h"

#include <cerrno>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* state_file = "tasks.json";

void put(Json& json, const std::string& key, const Accuracy& accuracy) {
  json[key + ",none"] = accuracy.value;
  json[key + "_stderr,none"] = accuracy.error ? Json(*accuracy.error) : Json("N/A");
  json[key] = accuracy.value;
  json[key + "_stderr"] = accuracy.error ? Json(*accuracy.error) : Json();
}

Json json_of(const TaskResult& result) {
  Json json{{"alias", result.name}, {"sample_len", result.acc.questions}, {"cut_at_left", result.cut}};
  put(json, "acc", result.acc);
  if (result.normalised) {
    put(json, "acc_norm", result.acc_norm);
    put(json, "acc_bytes", result.acc_bytes);
  }
  return json;
}

/// The likelihoods of a line that was written whole, of that question with so many choices.
std::optional<std::vector<double>> read_sample(std::string_view line, std::size_t question, std::size_t choices) {
  try {
    const nlohmann::json json = parse_json(line, "evaluate", "samples", "an object");
    const JsonReader sample(json, "evaluate", "samples");
    std::vector<double> row;
    for (const JsonReader& value : sample.list("loglikelihoods")) row.push_back(value.number());
    const bool is_its = sample.at("doc_id").unsigned_integer() == question && row.size() == choices;
    return is_its ? std::optional(std::move(row)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Json task_results_json(const std::vector<TaskResult>& tasks, const std::vector<TaskResult>& groups) {
  Json json{{"results", Json::object()},
            {"groups", Json::object()},
            {"n-shot", Json::object()},
            {"n-samples", Json::object()}};
  for (const TaskResult& group : groups) json["results"][group.name] = json["groups"][group.name] = json_of(group);
  for (const TaskResult& task : tasks) {
    json["results"][task.name] = json_of(task);
    json["n-shot"][task.name] = task.shots;
    json["n-samples"][task.name] = {{"original", task.acc.questions + task.left_out},
                                    {"effective", task.acc.questions}};
  }
  return json;
}

std::string sample_lines(const LoadedTask& task, const LogLikelihoods& scores, std::size_t first) {
  std::string lines;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const TaskItem& item = task.items[first + i];
    const ItemScore score = judge(item, scores[i]);
    Json json{
        {"doc_id", first + i}, {"loglikelihoods", scores[i]}, {"gold", item.gold}, {"acc", score.acc ? 1.0 : 0.0}};
    if (task.normalised) {
      json["acc_norm"] = score.acc_norm ? 1.0 : 0.0;
      json["acc_bytes"] = score.acc_bytes ? 1.0 : 0.0;
    }
    lines += json.dump() + "\n";
  }
  return lines;
}

LogLikelihoods read_sample_lines(std::string_view text, const LoadedTask& task) {
  LogLikelihoods out;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos && out.size() < task.items.size();
       end = text.find('\n')) {
    auto row = read_sample(text.substr(0, end), out.size(), task.items[out.size()].choices.size());
    if (!row) break;
    out.push_back(std::move(*row));
    text.remove_prefix(end + 1);
  }
  return out;
}

std::optional<std::string> read_kept(const std::string& path) {
  auto text = read_text_file(path);
  if (text || errno == ENOENT) return text;
  throw usage_error("evaluate", "{}: cannot be read: {}", path, reason_not_read(errno));
}

DoneTasks::DoneTasks(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  const std::string path = path_of(state_file);
  const auto text = read_kept(path);
  if (!text) return;
  done_ = parse_json(*text, "evaluate", path, "what octet-evaluate wrote");
  if (!done_.is_object()) throw usage_error("evaluate", "{}: expected an object, as octet-evaluate writes", path);
}

std::optional<LogLikelihoods> DoneTasks::find(const LoadedTask& task, const Json& identity) const {
  const auto found = done_.find(task.name);
  if (found == done_.end()) return std::nullopt;
  if (*found != nlohmann::json(identity)) {
    log::info("{}: {} has it of another model, layout, tokenizer or data: it is asked anew", task.name, folder_);
    return std::nullopt;
  }
  const auto text = read_kept(path_of("samples_" + task.name + ".jsonl"));
  if (!text) return std::nullopt;
  LogLikelihoods rows = read_sample_lines(*text, task);
  return rows.size() == task.items.size() ? std::optional(std::move(rows)) : std::nullopt;
}

void DoneTasks::add(const LoadedTask& task, const Json& identity, const LogLikelihoods& scores) {
  if (folder_.empty()) return;
  const auto keep = [&](const std::string& name, const std::string& text) {
    if (!replace_file(path_of(name), text)) throw not_written("evaluate", path_of(name));
  };
  done_.erase(task.name);
  keep(state_file, done_.dump(2) + "\n");  // the samples of another model are replaced
  keep("samples_" + task.name + ".jsonl", sample_lines(task, scores));
  done_[task.name] = identity;
  keep(state_file, done_.dump(2) + "\n");
}

}  // namespace octet
