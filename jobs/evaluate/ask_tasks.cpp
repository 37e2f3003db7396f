#include "jobs/evaluate/ask_tasks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "jobs/evaluate/evaluated_facts.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/evaluate/tasks/begun_task.h"
#include "src/evaluate/tasks/task_files.h"

namespace octet::evaluate {
namespace {

std::vector<EncodedTask> encode(const std::vector<LoadedTask>& tasks, const FoundModel& model,
                                const Tokenizer& tokenizer) {
  ItemEncoder encoder(tokenizer);
  std::vector<EncodedTask> out;
  for (const LoadedTask& task : tasks) {
    out.push_back(encode_task(task, encoder, model.window));
    if (out.back().cut == 0) continue;
    log::info("{}: {} of {} questions lost tokens at their left, to fit into the window of {} of {}", task.name,
              out.back().cut, task.items.size(), model.window, model.source.name());
  }
  return out;
}

/// What a task is computed of.
Json task_identity(const LoadedTask& task, const Json& model) {
  return {{"model", model}, {"shots", task.shots}, {"data", task.fingerprint}, {"questions", task.items.size()}};
}

/// Which tasks are done, as the first rank finds them in the folder.
std::vector<std::optional<LogLikelihoods>> find_done(const DoneTasks& done, const std::vector<LoadedTask>& tasks,
                                                     const Json& model, Communicator& control) {
  Json found = Json::array();
  for (const LoadedTask& task : tasks) {
    if (log::rank() != 0) break;
    const auto scores = done.find(task, task_identity(task, model));
    found.push_back(scores ? Json(*scores) : Json());
  }
  const Json told = Json::parse(broadcast_bytes(found.dump(), 0, control));
  std::vector<std::optional<LogLikelihoods>> out;
  for (const Json& one : told) out.push_back(one.is_null() ? std::nullopt : std::optional(one.get<LogLikelihoods>()));
  return out;
}

/// The first rank finds in the folder what was scored before, and keeps there what comes.
LogLikelihoods ask(const LoadedTask& task, const EncodedTask& encoded, EvaluatedModel& model, BegunTask& begun,
                   Communicator& control) {
  const KeptRows kept{
      .before = Json::parse(broadcast_bytes(Json(begun.before()).dump(), 0, control)).get<LogLikelihoods>(),
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

}  // namespace

AskedModel::AskedModel(const std::string& path, const ModelOptions& options, const std::vector<LoadedTask>& tasks,
                       const Ranks& ranks)
    : found(path, options, ranks.mesh, ranks.stream.device(), ranks.control),
      tokenizer(tokenizer_of(found.source, options.tokenizer, options.control_tokens)),
      encoded(encode(tasks, found, *tokenizer)) {
  found.limit_texts_to(std::ranges::max_element(encoded, {}, &EncodedTask::longest)->longest);
}

std::vector<LogLikelihoods> ask_tasks(AskedModel& asked, const std::vector<LoadedTask>& tasks,
                                      const std::string& output, const Ranks& ranks) {
  EvaluatedModel model(asked.found, ranks.mesh, ranks.stream, ranks.control);
  const Json facts = facts_of(asked.found, *asked.tokenizer);
  const std::string folder = log::rank() == 0 ? output : "";
  DoneTasks done(folder);
  const auto before = find_done(done, tasks, facts, ranks.control);
  std::vector<LogLikelihoods> answers;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const LoadedTask& task = tasks[i];
    if (before[i]) {
      log::info("{}: done before", task.name);
      answers.push_back(*before[i]);
    } else {
      const Json identity = task_identity(task, facts);
      BegunTask begun(folder, task, identity);
      answers.push_back(ask(task, asked.encoded[i], model, begun, ranks.control));
      done.add(task, identity, answers.back());
      begun.done();
    }
    asked.encoded[i].questions = {};  // which may be large
  }
  log::info("{}", memory_text(ranks.stream.device()));
  return answers;
}

}  // namespace octet::evaluate
