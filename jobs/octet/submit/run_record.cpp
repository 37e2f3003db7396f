#include "jobs/octet/submit/run_record.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/utc_now.h"
#include "src/cluster/slurm_job.h"

namespace octet::submit {
namespace {

std::string record_file(const std::string& run_dir) {
  return run_dir + "/jobs.jsonl";
}

/// FNV-1a.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

std::string settings_mark(const std::vector<std::string>& asked) {
  return fmt::format("{:08x}", hash_of(fmt::format("{}", fmt::join(asked, "\n"))));
}

std::string job_name(const std::string& run_dir) {
  const std::uint32_t hash = hash_of(run_dir);
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
  json["time"] = utc_now();
  json["spares"] = job.spares;
  json["run_dir"] = job.run_dir;
  json["steps"] = job.steps;
  json["settings"] = job.settings;
  const std::string file = record_file(run_dir);
  const std::string before = read_text_file(file).value_or("");
  const bool broken_off = !before.empty() && !before.ends_with('\n');
  if (append_text(file, fmt::format("{}{}\n", broken_off ? "\n" : "", json.dump()))) return;
  throw internal_error("submit", "{}: job {} is submitted, but cannot be noted there: {}", file, job.id,
                       why_not_written(errno));
}

std::vector<JobRecord> recorded_jobs(const std::string& run_dir) {
  std::vector<JobRecord> out;
  const std::optional<std::string> text = read_text_file(record_file(run_dir));
  if (!text && errno != ENOENT && errno != ENOTDIR) throw not_read("submit", record_file(run_dir));
  std::istringstream file(text.value_or(""));
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string where = fmt::format("{}:{}", record_file(run_dir), ++number);
    if (!line.ends_with('}')) {
      log::warning(
          "{}: {} is a line that was cut off, and is ignored; if its job was submitted, `squeue --me` shows it", where,
          in_quotes(line));
      continue;
    }
    const auto json = parse_json(line, "submit", where, "a submission");
    const JsonReader job(json, "submit", where);
    if (!is_job_number(job.text("id"))) throw job.at("id").refuse("the number of a job");
    out.push_back({.id = job.text("id"),
                   .name = job.text("name"),
                   .cluster = job.text("cluster"),
                   .nodes = job.integer("nodes"),
                   .time = job.text("time"),
                   .spares = job.contains("spares") ? job.integer("spares") : 0,
                   .run_dir = job.contains("run_dir") ? job.text("run_dir") : "",
                   .steps = job.contains("steps") ? job.integer("steps") : 0,
                   .settings = job.contains("settings") ? job.text("settings") : ""});
  }
  return out;
}

}  // namespace octet::submit
