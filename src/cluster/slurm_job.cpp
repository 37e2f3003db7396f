#include "src/cluster/slurm_job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::int64_t most = 100'000'000;  // of each number, so that sums fit; three years in seconds

/// The numbers between colons; empty where a part is none. Leading zeros are usual here: "08:00:00".
std::vector<std::int64_t> numbers(std::string_view text) {
  std::vector<std::int64_t> out = {0};
  bool digits = false;
  for (const char c : text) {
    if (c == ':' && digits) {
      out.push_back(0);
      digits = false;
    } else if (c >= '0' && c <= '9' && out.back() < most) {
      out.back() = out.back() * 10 + (c - '0');
      digits = true;
    } else {
      return {};
    }
  }
  return digits ? out : std::vector<std::int64_t>{};
}

}  // namespace

std::int64_t parse_slurm_time(std::string_view text, std::string_view origin) {
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  const std::vector<std::int64_t> days = numbers(has_days ? text.substr(0, dash) : "0");
  const std::vector<std::int64_t> rest = numbers(has_days ? text.substr(dash + 1) : text);
  std::int64_t seconds = 0;
  if (days.size() == 1 && !rest.empty() && rest.size() <= 3) {
    std::int64_t unit = has_days ? 3600 : rest.size() == 3 ? 3600 : 60;
    seconds = days[0] * 86400;
    for (const std::int64_t n : rest) {
      seconds += n * unit;
      unit /= 60;
    }
  }
  if (seconds > 0) return seconds;
  throw usage_error("cluster", "{}: {}: expected a time above zero: minutes, H:MM:SS, D-H, D-H:MM or D-H:MM:SS", origin,
                    in_quotes(text));
}

namespace {

/// The value of " KEY=value".
std::string_view field(std::string_view text, std::string_view key) {
  const std::string wanted = std::string(key) + "=";
  for (std::size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + 1)) {
    if (at != 0 && text[at - 1] != ' ' && text[at - 1] != '\n') continue;
    const std::string_view value = text.substr(at + wanted.size());
    return value.substr(0, value.find_first_of(" \n"));
  }
  return {};
}

std::optional<double> seconds(std::string_view text) {
  if (text == "00:00:00") return 0;
  try {
    return static_cast<double>(parse_slurm_time(text, "scontrol"));
  } catch (const Error&) {  // UNLIMITED, Partition_Limit
    return std::nullopt;
  }
}

/// A point in time, in seconds since some other; nothing where there is none, or in a form of SLURM_TIME_FORMAT.
std::optional<double> point_in_time(std::string_view text) {
  const std::string whole(text);
  std::tm parts{};
  const char* end = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(::timegm(&parts));
}

/// Whether a job that ends was cancelled while it had its grace time. When Slurm itself ends a preempted job, at once
/// or after that time, it sets PreemptTime anew (src/slurmctld/preempt.c since 21.08), in the second of EndTime; until
/// then it is the begin of the grace time.
bool is_cancelled_in_grace(std::string_view preempted, std::string_view ended) {
  constexpr double slack = 3;  // of a controller that is busy
  const auto begin = point_in_time(preempted), end = point_in_time(ended);
  return begin && end && *end - *begin > slack;
}

/// States of a job that has no processes: it has ended, or it waits. COMPLETING is not one of them.
constexpr std::array<std::string_view, 17> without_processes{
    "BOOT_FAIL",     "CANCELLED", "COMPLETED",    "DEADLINE",  "FAILED",      "NODE_FAIL",
    "OUT_OF_MEMORY", "PENDING",   "PREEMPTED",    "REQUEUED",  "REQUEUE_FED", "REQUEUE_HOLD",
    "RESV_DEL_HOLD", "REVOKED",   "SPECIAL_EXIT", "STAGE_OUT", "TIMEOUT"};

}  // namespace

bool tells_of_failed_node(std::string_view said) {
  return said.find("srun: error: Node failure on ") != std::string_view::npos ||
         said.find(" DUE TO NODE FAILURE") != std::string_view::npos;
}

bool ended_at_limit(double seconds_left) {
  constexpr double slack = 5;
  return seconds_left < slack;
}

bool is_job_number(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
         text.find_first_not_of("0123456789_+") == std::string_view::npos;
}

SlurmJob parse_slurm_job(std::string_view text) {
  SlurmJob job;
  const std::string_view state = field(text, "JobState"), reason = field(text, "Reason");
  job.known = !state.empty();
  job.over = job.known && std::ranges::find(without_processes, state) != without_processes.end();
  // Slurm 23.11 to 25.05 set this flag of a job that runs, too, where its reservation has become invalid.
  if (state == "RESV_DEL_HOLD" && !node_list(text).empty()) job.over = false;
  job.cancelled_unbegun = state == "CANCELLED" && node_list(text).empty();
  job.failed = state == "FAILED";
  job.node_failed = state == "NODE_FAIL" || reason == "NodeDown";
  const std::string_view restarts = field(text, "Restarts");
  std::from_chars(restarts.data(), restarts.data() + restarts.size(), job.restarts);
  job.timed_out = state == "TIMEOUT" || reason == "TimeLimit";
  job.ending = state == "COMPLETING" || state == "CANCELLED" || state == "TIMEOUT";
  const std::string_view preempted = field(text, "PreemptTime");
  job.preempted = !preempted.empty() && preempted != "None" && preempted != "N/A" && preempted != "Unknown" &&
                  !(job.ending && is_cancelled_in_grace(preempted, field(text, "EndTime")));
  const auto ran = seconds(field(text, "RunTime")), limit = seconds(field(text, "TimeLimit"));
  if (ran && limit) job.seconds_left = *limit - *ran;
  return job;
}

std::string_view node_list(std::string_view text) {
  const std::string_view hosts = field(text, "NodeList");
  return hosts == "(null)" ? "" : hosts;
}

std::string_view cluster_name(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  std::size_t at = text.find("ClusterName");
  if (at == std::string_view::npos || (at = text.find_first_of("=\n", at)) == std::string_view::npos) return {};
  if (text[at] != '=') return {};
  text.remove_prefix(std::min(text.find_first_not_of(blanks, at + 1), text.size()));
  return text.substr(0, text.find_first_of(" \t\n"));
}

}  // namespace octet
