#include "jobs/octet/submit/standing.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "src/base/error.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "src/owner/evidence.h"
#include "src/owner/told_to_end.h"

namespace octet::submit {
namespace {

namespace fs = std::filesystem;

std::string last_line(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";  // a pipe would wait for its writer
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line) && !file.eof();) last = line;  // the very last may be half written
  return last;
}

/// An object; null where there is no line, and where it cannot be read, which is told.
nlohmann::json last_metrics(const SubmittedRun& run) {
  const std::string path = run.path + "/metrics.jsonl", line = last_line(path);
  if (line.empty()) return nullptr;
  try {
    auto json = parse_json(line, "submit", path, "the metrics of a step");
    JsonReader(json, "submit", path).integer("step", 0);
    return json;
  } catch (const Error& error) {
    log::warning("{}; the last line is left out", error.what());
    return nullptr;
  }
}

/// "step 7, loss 2.5, ...": numbers that a person looks for.
void print_metrics(const nlohmann::json& json) {
  if (!json.is_object()) return log::out("metrics  none yet");
  const auto rounded = [](std::string_view key, double value) {
    if (key == "step") return fmt::format("{:.0f}", value);
    if (key == "tokens_per_second") return grouped(value);
    return key == "mfu" ? fmt::format("{:.1f}", value) : fmt::format("{:.4f}", value);  // as the training log does
  };
  std::string text;
  for (const char* key : {"step", "loss", "validation_loss", "grad_norm", "tokens_per_second", "mfu"}) {
    if (!json.contains(key) || !json[key].is_number()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, rounded(key, json[key].get<double>()));
  }
  log::out("metrics  {}", text);
}

void print_owner(const std::optional<OwnerStanding>& owner) {
  if (!owner || owner->gone()) return;
  const std::string heard = owner->age_seconds ? fmt::format(", heard of {:.0f} s ago", *owner->age_seconds) : "";
  log::out("owner    {}{}", describe(owner->owner), heard);
}

/// ": job 7 was cancelled ..." of the owner's job, or of the newest that was told to end: a run that starts has written
/// no status yet, and has not claimed the directory at first.
std::string end_of_a_start(const SubmittedRun& run, const std::optional<OwnerStanding>& owner) {
  if (owner && !owner->gone()) return "";
  if (owner && owner->told) return ": " + *owner->told;
  for (auto job = run.jobs.rbegin(); job != run.jobs.rend(); ++job) {
    if (const auto told = told_to_end(run.path, job->id)) return ": " + *told;
  }
  return "";
}

/// The status is written when a run begins, saves and ends; while it trains its metrics know of later steps.
void print_status(const SubmittedRun& run, const nlohmann::json& metrics) {
  const auto owner = ask_owner(run.path);
  print_owner(owner);
  auto status = read_status(run.path + "/status.json");
  if (!status) return log::out("status   none yet{}", end_of_a_start(run, owner));
  status = believed(*std::move(status), owner);
  if (metrics.is_object()) status->step = std::max(status->step, metrics["step"].get<std::int64_t>());
  log::out("status   {} at step {} of {}{}, restarts {}, {}", status->state, status->step, status->steps,
           status->reason.empty() ? "" : fmt::format(" ({})", readable(status->reason)), status->restarts,
           status->time);
  if (!status->checkpoint.empty()) log::out("saved    {}", readable(status->checkpoint));
}

}  // namespace

void print_standing(const SubmittedRun& run) {
  const nlohmann::json metrics = last_metrics(run);
  print_status(run, metrics);
  print_metrics(metrics);
}

}  // namespace octet::submit
