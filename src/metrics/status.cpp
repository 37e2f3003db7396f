#include "src/metrics/status.h"

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/replace_file.h"

namespace octet {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

void write_status(const std::string& path, const RunStatus& status) {
  nlohmann::ordered_json json;
  json["state"] = status.state;
  json["reason"] = status.reason;
  json["exit_code"] = status.exit_code;
  json["step"] = status.step;
  json["steps"] = status.steps;
  json["restarts"] = status.restarts;
  if (!status.checkpoint.empty()) json["checkpoint"] = status.checkpoint;
  json["time"] = utc_now();
  // Ranks that fail may write at once.
  if (!replace_file(path, json.dump(2) + "\n")) throw internal_error("metrics", "{}: cannot be written", path);
}

std::optional<RunStatus> read_status(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    return RunStatus{.state = json.at("state"),
                     .reason = json.at("reason"),
                     .exit_code = json.at("exit_code"),
                     .step = json.at("step"),
                     .steps = json.at("steps"),
                     .restarts = json.value("restarts", std::int64_t{0}),
                     .checkpoint = json.value("checkpoint", std::string()),
                     .time = json.value("time", std::string())};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace octet
