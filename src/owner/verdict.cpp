#include "src/owner/verdict.h"

#include <cstdlib>
#include <utility>

namespace octet {
namespace {

bool is_earlier_launch(const JobLaunch& job, const JobLaunch& mine) {
  if (job.id.empty() || job.id != mine.id || job.cluster != mine.cluster) return false;
  return std::pair(job.restart, job.launch) < std::pair(mine.restart, mine.launch);
}

}  // namespace

double owner_patience_seconds() {
  const char* for_tests = std::getenv("OCTET_TEST_OWNER_SECONDS");
  const double seconds = for_tests == nullptr ? 0 : std::atof(for_tests);
  return seconds > 0 ? seconds : 600;
}

OwnerState judge_owner(const OwnerRecord& owner, const JobLaunch& mine, const OwnerEvidence& seen, double patience) {
  if (owner.released) return OwnerState::released;
  if (is_earlier_launch(owner.job, mine)) return OwnerState::earlier_launch;
  if (seen.process_lives == false) return OwnerState::no_process;
  if (seen.job_over == true && seen.process_lives != true) return OwnerState::job_over;
  if (seen.age_seconds && *seen.age_seconds > patience) return OwnerState::silent;
  return OwnerState::at_work;
}

bool needs_slurm(const OwnerRecord& owner, const JobLaunch& mine, const OwnerEvidence& seen, double patience) {
  if (owner.job.id.empty() || seen.job_over) return false;
  OwnerEvidence then = seen;
  then.job_over = true;
  return judge_owner(owner, mine, seen, patience) == OwnerState::at_work &&
         judge_owner(owner, mine, then, patience) != OwnerState::at_work;
}

std::string text_of(OwnerState state) {
  switch (state) {
    case OwnerState::at_work:
      break;
    case OwnerState::released:
      return "it has ended";
    case OwnerState::earlier_launch:
      return "it was an earlier launch of the same job";
    case OwnerState::no_process:
      return "there is no such process on its machine any more";
    case OwnerState::job_over:
      return "Slurm says that its job is over";
    case OwnerState::silent:
      return "it has not been heard of for too long";
  }
  return "it is at work";
}

}  // namespace octet
