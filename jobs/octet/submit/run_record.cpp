#include "jobs/octet/submit/run_record.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"

namespace octet::submit {
namespace {

std::string record_file(const std::string& run_dir) {
  return run_dir + "/jobs.jsonl";
}

}  // namespace

std::string job_name(const std::string& run_dir) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : run_dir) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::string folder = std::filesystem::path(run_dir).filename();
  std::ranges::replace(folder, ',', '_');
  return fmt::format("{}-{:04x}", folder, hash & 0xffffU);
}

void record_job(const std::string& run_dir, const JobRecord& job) {
  nlohmann::ordered_json json;
  json["id"] = job.id;
  json["name"] = job.name;
  json["cluster"] = job.cluster;
  json["nodes"] = job.nodes;
  json["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  if (!append_text(record_file(run_dir), json.dump() + "\n")) {
    throw internal_error("submit", "{}: job {} is submitted, but cannot be noted there: {}", record_file(run_dir),
                         job.id, std::strerror(errno));
  }
}

void record_chain(const std::string& run_dir, const std::vector<std::string>& ids) {
  std::error_code error;
  std::filesystem::create_directories(run_dir + "/job", error);
  const std::string path = run_dir + "/job/chains.txt";
  if (append_text(path, fmt::format("{}\n", fmt::join(ids, " ")))) return;
  throw internal_error("submit", "{}: jobs {} are submitted, but cannot be noted there: {}", path, fmt::join(ids, ", "),
                       std::strerror(errno));
}

std::vector<JobRecord> recorded_jobs(const std::string& run_dir) {
  std::vector<JobRecord> out;
  std::ifstream file(record_file(run_dir));
  for (std::string line; std::getline(file, line);) {
    const std::string where = fmt::format("{}:{}", record_file(run_dir), out.size() + 1);
    const auto json = parse_json(line, "submit", where, "a submission");
    const JsonReader job(json, "submit", where);
    out.push_back({job.text("id"), job.text("name"), job.text("cluster"), job.integer("nodes"), job.text("time")});
  }
  return out;
}

}  // namespace octet::submit
