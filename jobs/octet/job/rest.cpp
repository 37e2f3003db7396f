#include "jobs/octet/job/rest.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace octet {
namespace {

using submit::JobRecord;

std::int64_t number(const std::string& id) {
  std::int64_t value = 0;
  std::from_chars(id.data(), id.data() + id.size(), value);
  return value;
}

/// Its own record, else that of the newest job before it; null where there is none.
const JobRecord* record_of(const std::vector<JobRecord>& jobs, const std::string& id) {
  const JobRecord* found = nullptr;
  for (const JobRecord& job : jobs) {
    if (job.id == id) return &job;
    if (number(job.id) < number(id)) found = &job;
  }
  return found;
}

template <typename Wanted>
std::vector<std::string> those(const std::vector<JobRecord>& jobs, const std::vector<std::string>& waiting,
                               const Wanted& wanted) {
  std::vector<std::string> out;
  std::ranges::copy_if(waiting, std::back_inserter(out), [&](const std::string& id) {
    const JobRecord* record = record_of(jobs, id);
    return record != nullptr && wanted(*record);
  });
  return out;
}

}  // namespace

std::vector<std::string> without_steps(const std::vector<JobRecord>& jobs, const std::vector<std::string>& waiting,
                                       std::int64_t steps) {
  return those(jobs, waiting, [&](const JobRecord& job) { return job.steps > 0 && job.steps <= steps; });
}

std::vector<std::string> of_the_same(const std::vector<JobRecord>& jobs, const std::vector<std::string>& waiting,
                                     const std::string& job) {
  const JobRecord* mine = record_of(jobs, job);
  if (mine == nullptr || mine->settings.empty()) return {};
  return those(jobs, waiting, [&](const JobRecord& other) { return other.settings == mine->settings; });
}

}  // namespace octet
