#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/octet/job/launch_files.h"

namespace octet {

/// The launches of a run, oldest first, over all its jobs. The writer is the job's script, through `octet job`; of a
/// job that was refused the directory too, so that a job ends its own launches alone.
class LaunchLog {
 public:
  /// Reads the files; none is there before the first launch.
  explicit LaunchLog(const std::string& run_dir);

  const std::vector<LaunchRecord>& records() const { return records_; }
  /// The launch of a job that has begun and not ended.
  LaunchRecord* running(const std::string& job);
  /// The last launch of a job, where what comes after it is recorded already: who decided that may have been killed
  /// before he could say it.
  LaunchRecord* decided(const std::string& job);
  /// The last launch, where it is another job's and has not ended.
  LaunchRecord* running_elsewhere(const std::string& job);
  void add(LaunchRecord record) { records_.push_back(std::move(record)); }
  /// Launches in a row, up to the last that has ended, that left no new checkpoint. What a user or the run itself ended
  /// on purpose begins the count anew. What Slurm ended for another job, or since somebody put the job back into the
  /// queue, says nothing of the run and is passed over. So is a look at the nodes that found a sick one that was not
  /// excluded yet, of which there are no more than nodes.
  int fruitless() const;
  /// Hosts for which launches of this job ended (exit code 76, src/base/hosts.h) since it got its nodes. A check of the
  /// node may find nothing wrong with them. When the job comes back from the queue they may be mended.
  std::vector<std::string> left_out(const std::string& job) const;
  /// These hosts and all that were excluded since the last launch that left a new checkpoint, each once. One that was
  /// mended meanwhile is used again, one that was not is found again by the look at the nodes, and excluded with those
  /// that were found since; so that a run that gets nowhere goes through the sick nodes of a cluster one by one.
  std::vector<std::string> with_excluded(std::vector<std::string> hosts) const;
  /// The files of jobs whose launches have changed (launch_files.h). Internal error where one cannot be written.
  void write() const;

 private:
  LaunchRecord* last(const std::string& job);

  std::string run_dir_;
  std::map<std::string, JobLaunches> read_;  ///< as they were found
  std::vector<LaunchRecord> records_;
};

}  // namespace octet
