#include "src/metrics/status.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/log.h"

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
  json["time"] = utc_now();
  const std::string temporary = fmt::format("{}.tmp{}", path, log::rank());  // ranks that fail may write at once
  std::ofstream file(temporary);
  file << json.dump(2) << '\n' << std::flush;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    throw internal_error("metrics", "{}: cannot be written", path);
  }
}

}  // namespace octet
