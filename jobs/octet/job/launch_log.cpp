#include "jobs/octet/job/launch_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/hosts.h"
#include "src/base/json_reader.h"
#include "src/base/replace_file.h"
#include "src/cluster/host_list.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const LaunchRecord& r) {
  Json json = {{"job", r.launch.job},
               {"hosts", r.hosts},
               {"began", r.began},
               {"ended", r.ended},
               {"checkpoint", r.launch.checkpoint},
               {"checkpoint_after", r.checkpoint_after},
               {"state", r.launch.state},
               {"reason", r.launch.reason},
               {"exit_code", r.launch.exit_code},
               {"action", r.action},
               {"status_before", r.status_before}};
  if (r.owner_before) json["owner_before"] = *r.owner_before;
  return json;
}

LaunchRecord from_json(const JsonReader& r) {
  return {.launch = {.job = r.text("job"),
                     .checkpoint = r.text("checkpoint"),
                     .state = r.text("state"),
                     .reason = r.text("reason"),
                     .exit_code = static_cast<int>(r.integer("exit_code", INT32_MIN, INT32_MAX))},
          .hosts = r.text("hosts"),
          .began = r.text("began"),
          .ended = r.text("ended"),
          .checkpoint_after = r.text("checkpoint_after"),
          .action = r.text("action"),
          .status_before = r.text("status_before"),
          .owner_before = r.contains("owner_before") ? std::optional(r.text("owner_before")) : std::nullopt};
}

}  // namespace

LaunchLog::LaunchLog(const std::string& run_dir) : path_(run_dir + "/job/launches.jsonl") {
  std::ifstream file(path_);
  std::string line;
  try {
    while (std::getline(file, line)) {
      const std::string where = fmt::format("{}:{}", path_, records_.size() + 1);
      const auto json = parse_json(line, "job", where, "a launch");
      records_.push_back(from_json(JsonReader(json, "job", where)));
    }
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}; move the file away to go on without it", e.what()));
  }
}

LaunchRecord* LaunchLog::running(const std::string& job) {
  const auto last =
      std::ranges::find(records_.rbegin(), records_.rend(), job, [](const LaunchRecord& r) { return r.launch.job; });
  return last == records_.rend() || !last->action.empty() ? nullptr : &*last;
}

LaunchRecord* LaunchLog::running_elsewhere(const std::string& job) {
  const bool is = !records_.empty() && records_.back().action.empty() && records_.back().launch.job != job;
  return is ? &records_.back() : nullptr;
}

int LaunchLog::fruitless() const {
  int count = 0;
  for (auto r = records_.rbegin(); r != records_.rend(); ++r) {
    if (r->ended.empty()) continue;
    const bool on_purpose = r->action == "stop" || r->action == "finish" || r->action == "wait";
    if (on_purpose || r->checkpoint_after != r->launch.checkpoint) break;
    ++count;
  }
  return count;
}

std::vector<std::string> LaunchLog::left_out(const std::string& job) const {
  std::vector<std::string> hosts;
  for (const LaunchRecord& r : records_) {
    if (r.launch.job != job || r.launch.exit_code != static_cast<int>(ExitCode::unhealthy)) continue;
    std::ranges::copy(left_out_hosts(r.launch.reason), std::back_inserter(hosts));
  }
  return hosts;
}

std::vector<std::string> LaunchLog::with_excluded(std::vector<std::string> hosts) const {
  for (const LaunchRecord& r : records_) {
    if (r.action != name_of(JobAction::exclude)) continue;
    for (const std::string& host : expand_hosts(r.hosts)) {
      if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
  }
  return hosts;
}

void LaunchLog::write() const {
  std::string text;
  for (const LaunchRecord& r : records_) text += to_json(r).dump() + "\n";
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  if (!replace_file(path_, text)) throw internal_error("job", "{}: cannot be written: {}", path_, std::strerror(errno));
}

}  // namespace octet
