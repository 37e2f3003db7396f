#include "src/owner/told_to_end.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "src/base/files.h"
#include "src/base/printable.h"
#include "src/cluster/slurm_job.h"

namespace octet {
namespace {

constexpr std::size_t longest_note = std::size_t{1} << 16;

std::string note_of(const std::string& run_dir, const std::string& job) {
  return fmt::format("{}/job/{}/told-to-end", run_dir, job);
}

/// Without the time.
ToldToEnd what_befell(const SlurmJob& job, int restart) {
  if (!job.known) return {.text = "was told to end (Slurm did not say why)"};
  if (job.node_failed) return {.text = "lost a node, and was ended by Slurm", .node_failed = true};
  if (job.preempted) return {.text = "was preempted", .comes_back = true};
  if (job.restarts > restart) return {.text = "was put back into the queue", .comes_back = true};
  if (ended_at_limit(job.seconds_left)) return {.text = "reached its time limit", .at_limit = true};
  if (job.timed_out) return {.text = "was ended at a limit of its time, account or reservation", .at_limit = true};
  return {.text = "was cancelled"};
}

}  // namespace

std::optional<ToldToEnd> told_to_end(const std::string& run_dir, const std::string& job) {
  if (!is_job_number(job)) return std::nullopt;
  const auto note = read_text_file(note_of(run_dir, job), longest_note);
  if (!note) return std::nullopt;
  std::istringstream words(*note);
  std::string time;
  int restart = 0;
  words >> time >> restart;
  SlurmJob shown = parse_slurm_job(*note);
  shown.node_failed = shown.node_failed || (shown.restarts > restart && tells_of_failed_node(*note));
  ToldToEnd told = what_befell(shown, restart);
  const std::string when = time.empty() ? "" : " at " + readable(time);  // empty: of a full disk
  told.text = fmt::format("job {} {}{}", job, told.text, when);
  return told;
}

void forget_told_to_end(const std::string& run_dir, const std::string& job) {
  std::error_code absent;
  if (is_job_number(job)) std::filesystem::remove(note_of(run_dir, job), absent);
}

std::string killed_unsaved(const std::string& told, const std::string& checkpoint) {
  return fmt::format(
      "{}; its ranks were killed before they could save {} (docs/problems.md, \"Ended before it could save\")", told,
      checkpoint.empty() ? "anything" : "again");
}

}  // namespace octet
