#include "jobs/octet/submit/standing.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/octet/submit/last_lines.h"
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

/// The last line as an object; null where there is no line, and where it cannot be read, which is told.
nlohmann::json last_metrics(const std::string& path, const std::vector<std::string>& lines) {
  if (lines.empty()) return nullptr;
  try {
    auto json = parse_json(lines.back(), "submit", path, "the metrics of a step");
    JsonReader(json, "submit", path).integer("step", 0);
    return json;
  } catch (const Error& error) {
    log::warning("{}; the last line is left out", error.what());
    return nullptr;
  }
}

/// Seconds since a time as utc_now() has it, 0 for one to come by this machine's clock; nothing for another text.
std::optional<double> age_of(const nlohmann::json& time) {
  std::tm parts{};
  const std::string text = time.is_string() ? time.get<std::string>() : "";
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::max(0.0, std::difftime(std::time(nullptr), ::timegm(&parts)));
}

/// "45 s", "12 min", "3 h 20 min", "2 d 4 h", of fewer than 1e12 seconds.
std::string duration(double seconds) {
  const std::int64_t minutes = std::llround(seconds / 60), hours = std::llround(seconds / 3600);
  if (std::llround(seconds) < 60) return fmt::format("{:.0f} s", seconds);
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

/// "step 7, loss 2.5, ...": numbers that a person looks for, and how old they are: of a run that stands still they grow
/// old.
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
  const auto age = json.contains("time") ? age_of(json["time"]) : std::nullopt;
  log::out("metrics  {}{}", text, age ? fmt::format(", logged {} ago", duration(*age)) : "");
}

/// Of a run that trains.
void print_rest(const RunStatus& status, const std::vector<std::string>& lines) {
  const double left = static_cast<double>(status.steps) - static_cast<double>(status.step);
  if (status.state != "running" || lines.empty() || left <= 0) return;
  const auto pace = last_pace(lines);
  const double seconds = pace ? left * pace->seconds_per_step : 0;
  if (!pace || !(seconds < 1e12)) return log::out("left     {} steps", grouped(left));
  log::out("left     {} steps, about {} at the pace of the last {} steps", grouped(left), duration(seconds),
           grouped(static_cast<double>(pace->steps)));
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
    if (const auto told = told_to_end(run.path, job->id)) return ": " + told->text;
  }
  return "";
}

/// The status is written when a run begins, saves and ends; while it trains its metrics know of later steps. Once it
/// has ended, the last step that was logged may be one that does not count, of a loss that is not finite; not where a
/// rank was lost: an older octet job wrote the step of the last save then. Returns what there is, with the step that
/// was printed.
std::optional<RunStatus> print_status(const SubmittedRun& run, const nlohmann::json& metrics) {
  const auto owner = ask_owner(run.path);
  print_owner(owner);
  auto status = read_status(run.path + "/status.json");
  if (!status) {
    log::out("status   none yet{}", end_of_a_start(run, owner));
    return status;
  }
  const bool says_end = status->state != "running";
  const bool knows_step = says_end && status->exit_code != static_cast<int>(ExitCode::lost_peer);
  status = believed(*std::move(status), owner);
  if (metrics.is_object() && !knows_step) status->step = std::max(status->step, metrics["step"].get<std::int64_t>());
  const std::string when =
      status->time.empty() ? "" : fmt::format(", {} {}", says_end ? "ended" : "begun or saved", status->time);
  log::out("status   {} at step {} of {}{}, restarts {}{}", status->state, status->step, status->steps,
           status->reason.empty() ? "" : fmt::format(" ({})", readable(status->reason)), status->restarts, when);
  if (!status->checkpoint.empty()) log::out("saved    {}", readable(status->checkpoint));
  return status;
}

}  // namespace

void print_standing(const SubmittedRun& run) {
  const std::vector<std::string> lines = last_lines(run.path);
  const nlohmann::json metrics = last_metrics(run.path + "/metrics.jsonl", lines);
  const std::optional<RunStatus> status = print_status(run, metrics);
  print_metrics(metrics);
  if (status && metrics.is_object()) print_rest(*status, lines);
}

}  // namespace octet::submit
