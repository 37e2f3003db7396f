#include "src/owner/record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "src/base/environment.h"
#include "src/base/hosts.h"
#include "src/base/json_reader.h"
#include "src/base/utc_now.h"
#include "src/owner/process.h"

namespace octet {
namespace {

int number(const char* name) {
  return std::atoi(environment_variable(name).c_str());
}

/// The first part of the host's name, as far as it is fit for a file name.
std::string short_name(const std::string& host) {
  std::string name;
  for (const char c : host.substr(0, std::min<std::size_t>(host.find('.'), 40))) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  }
  return name;
}

std::string describe_job(const JobLaunch& job) {
  if (job.id.empty()) return "";
  const std::string launch = job.launch == 0 ? "" : fmt::format(", launch {}", job.launch);
  return fmt::format(", Slurm job {}{} (restart {}{})", job.id, job.cluster.empty() ? "" : " of " + job.cluster,
                     job.restart, launch);
}

}  // namespace

std::string to_json(const OwnerRecord& r) {
  nlohmann::ordered_json json;
  json["name"] = r.name;
  json["generation"] = r.generation;
  json["released"] = r.released;
  json["host"] = r.host;
  json["boot_id"] = r.boot_id;
  json["pid"] = r.pid;
  json["start_ticks"] = r.start_ticks;
  json["pid_namespace"] = r.pid_namespace;
  json["cluster"] = r.job.cluster;
  json["job"] = r.job.id;
  json["restart"] = r.job.restart;
  json["launch"] = r.job.launch;
  json["since"] = r.since;
  return json.dump(2) + "\n";
}

std::optional<OwnerRecord> parse_owner(const std::string& text) {
  try {
    const auto json = parse_json(text, "owner", "owner.json", "who owns a run");
    const JsonReader r(json, "owner", "owner.json");
    const auto small = [&](const char* key) { return static_cast<int>(r.integer(key, INT32_MIN, INT32_MAX)); };
    return OwnerRecord{.name = r.text("name"),
                       .generation = r.integer("generation"),
                       .released = r.boolean("released"),
                       .host = r.text("host"),
                       .boot_id = r.text("boot_id"),
                       .pid = r.integer("pid"),
                       .start_ticks = r.integer("start_ticks"),
                       .pid_namespace = r.text("pid_namespace"),
                       .job = {.cluster = r.text("cluster"),
                               .id = r.text("job"),
                               .restart = small("restart"),
                               .launch = small("launch")},
                       .since = r.text("since")};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string describe(const OwnerRecord& r) {
  return fmt::format("process {} on {}{}, since {}", r.pid, r.host, describe_job(r.job), r.since);
}

std::string describe_fully(const OwnerRecord& r) {
  return fmt::format("{} (boot {}, {}, start {})", describe(r), r.boot_id, r.pid_namespace, r.start_ticks);
}

OwnerRecord this_process() {
  const std::string host = host_name();
  const pid_t pid = getpid();
  return {.name = fmt::format("{}-{}-{:08x}", short_name(host), pid, std::random_device{}()),
          .host = host,
          .boot_id = boot_id(),
          .pid = pid,
          .start_ticks = find_process(pid).value_or(ProcessTrace{}).start_ticks,
          .pid_namespace = pid_namespace(),
          .job = this_launch(),
          .since = utc_now()};
}

JobLaunch this_launch() {
  return {.cluster = environment_variable("SLURM_CLUSTER_NAME"),
          .id = environment_variable("SLURM_JOB_ID"),
          .restart = number("SLURM_RESTART_COUNT"),
          .launch = number("OCTET_LAUNCH")};
}

}  // namespace octet
