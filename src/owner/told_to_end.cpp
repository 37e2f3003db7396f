#include "src/owner/told_to_end.h"

#include <fmt/format.h>

#include <sstream>

#include "src/base/files.h"
#include "src/base/printable.h"
#include "src/cluster/slurm_job.h"

namespace octet {
namespace {

constexpr std::size_t longest_note = std::size_t{1} << 16;

std::string what_befell(const SlurmJob& job, int restart) {
  if (!job.known) return "was told to end (Slurm did not say why)";
  if (job.node_failed) return "lost a node, and was ended by Slurm";
  if (job.preempted) return "was preempted";
  if (job.restarts > restart) return "was put back into the queue";
  return ended_at_limit(job.seconds_left) ? "reached its time limit" : "was cancelled";
}

}  // namespace

std::optional<std::string> told_to_end(const std::string& run_dir, const std::string& job) {
  if (!is_job_number(job)) return std::nullopt;
  const auto note = read_text_file(fmt::format("{}/job/{}/told-to-end", run_dir, job), longest_note);
  if (!note) return std::nullopt;
  std::istringstream words(*note);
  std::string time;
  int restart = 0;
  words >> time >> restart;
  return fmt::format("job {} {}{}", job, what_befell(parse_slurm_job(*note), restart),
                     time.empty() ? "" : " at " + readable(time));  // empty: of a full disk
}

std::string killed_unsaved(const std::string& told, const std::string& checkpoint) {
  return fmt::format(
      "{}; its ranks were killed before they could save {} (docs/problems.md, \"Ended before it could save\")", told,
      checkpoint.empty() ? "anything" : "again");
}

}  // namespace octet
