#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cluster/job_decision.h"

namespace octet {

/// One line of RUN/job/launches.jsonl: a launch, when it began and, once it has ended, how.
struct LaunchRecord {
  Launch launch{};
  std::string hosts{};             ///< list in Slurm's form; of action exclude those to avoid
  std::string began{}, ended{};    ///< UTC
  std::string checkpoint_after{};  ///< newest committed one when it had ended
  std::string action{};            ///< what the job did then, empty while it runs
  std::string status_before{};     ///< status.json's text, to know whether the launch wrote another one
  /// Of owner.json, by which a claim of the directory since then is known; nothing in a record of an older version.
  std::optional<std::string> owner_before{};
};

/// The launches of a run, oldest first, over all its jobs. The writer is the job's script, through `octet job`; of a
/// job that was refused the directory too, so that a job ends its own launches alone.
class LaunchLog {
 public:
  /// Reads the file; none is there before the first launch. Usage error for one that cannot be read.
  explicit LaunchLog(const std::string& run_dir);

  const std::vector<LaunchRecord>& records() const { return records_; }
  /// The launch of a job that has begun and not ended.
  LaunchRecord* running(const std::string& job);
  /// The last launch, where it is another job's and has not ended.
  LaunchRecord* running_elsewhere(const std::string& job);
  void add(LaunchRecord record) { records_.push_back(std::move(record)); }
  /// Launches in a row, up to the last that has ended, that left no new checkpoint. What a user, Slurm or the run
  /// itself ended on purpose begins the count anew.
  int fruitless() const;
  /// Hosts for which launches of this job ended (exit code 76, src/base/hosts.h). A check of the node may find nothing
  /// wrong with them.
  std::vector<std::string> left_out(const std::string& job) const;
  /// These hosts and all that were excluded before, each once.
  std::vector<std::string> with_excluded(std::vector<std::string> hosts) const;
  /// Written whole and renamed.
  void write() const;

 private:
  std::string path_;
  std::vector<LaunchRecord> records_;
};

}  // namespace octet
