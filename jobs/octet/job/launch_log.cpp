#include "jobs/octet/job/launch_log.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "src/base/error.h"
#include "src/base/hosts.h"
#include "src/cluster/host_list.h"

namespace octet {
namespace {

bool has_new_checkpoint(const LaunchRecord& r) {
  return !r.ended.empty() && r.checkpoint_after != r.launch.checkpoint;
}

/// The count of launches without a checkpoint begins after such a one.
bool begins_anew(const LaunchRecord& r) {
  return !r.ended.empty() && (r.action == "stop" || r.action == "finish" || has_new_checkpoint(r));
}

/// Adds the hosts that a record excludes; whether one of them was not there.
bool excludes_more(std::set<std::string>& hosts, const LaunchRecord& r) {
  if (r.action != name_of(JobAction::exclude)) return false;
  const std::size_t before = hosts.size();
  for (const std::string& host : expand_hosts(r.hosts)) hosts.insert(host);
  return hosts.size() != before;
}

}  // namespace

LaunchLog::LaunchLog(const std::string& run_dir)
    : run_dir_(run_dir), read_(read_launches(run_dir)), records_(in_order(read_)) {}

LaunchRecord* LaunchLog::last(const std::string& job) {
  const auto last =
      std::ranges::find(records_.rbegin(), records_.rend(), job, [](const LaunchRecord& r) { return r.launch.job; });
  return last == records_.rend() ? nullptr : &*last;
}

LaunchRecord* LaunchLog::running(const std::string& job) {
  LaunchRecord* const found = last(job);
  return found != nullptr && found->action.empty() ? found : nullptr;
}

LaunchRecord* LaunchLog::decided(const std::string& job) {
  LaunchRecord* const found = last(job);
  // A look at the nodes without a launch after it has no state.
  return found != nullptr && !found->action.empty() && !found->launch.state.empty() ? found : nullptr;
}

LaunchRecord* LaunchLog::running_elsewhere(const std::string& job) {
  const bool is = !records_.empty() && records_.back().action.empty() && records_.back().launch.job != job;
  return is ? &records_.back() : nullptr;
}

int LaunchLog::fruitless() const {
  const auto last = std::ranges::find_if(records_.rbegin(), records_.rend(), begins_anew);
  std::set<std::string> excluded;
  int count = 0;
  for (auto r = last.base(); r != records_.end(); ++r) {
    if (r->ended.empty() || r->action == name_of(JobAction::wait) || excludes_more(excluded, *r)) continue;
    ++count;
  }
  return count;
}

std::vector<std::string> LaunchLog::left_out(const std::string& job) const {
  std::vector<std::string> hosts;
  for (const LaunchRecord& r : records_) {
    if (r.launch.job != job) continue;
    if (r.launch.exit_code == static_cast<int>(ExitCode::unhealthy)) {
      std::ranges::copy(left_out_hosts(r.launch.reason), std::back_inserter(hosts));
    }
    const bool goes_on = r.action.empty() || r.action == name_of(JobAction::restart);
    if (!goes_on) hosts.clear();
  }
  return hosts;
}

std::vector<std::string> LaunchLog::with_excluded(std::vector<std::string> hosts) const {
  const auto fruitful = std::ranges::find_if(records_.rbegin(), records_.rend(), has_new_checkpoint);
  for (auto r = fruitful.base(); r != records_.end(); ++r) {
    if (r->action != name_of(JobAction::exclude)) continue;
    for (const std::string& host : expand_hosts(r->hosts)) {
      if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
  }
  return hosts;
}

void LaunchLog::write() const {
  std::map<std::string, JobLaunches> now;
  for (const LaunchRecord& r : records_) now[r.launch.job].records.push_back(r);
  bool has_changed = false;
  for (auto& [job, launches] : now) {
    const auto before = read_.find(job);
    if (before != read_.end() && before->second.records == launches.records) continue;
    launches.is_whole = before == read_.end() || before->second.is_whole;
    write_launches(run_dir_, job, launches);
    has_changed = true;
  }
  if (has_changed) write_all_launches(run_dir_);
}

}  // namespace octet
