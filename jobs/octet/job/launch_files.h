#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/octet/job/launch_record.h"

namespace octet {

// Where a run keeps its launches: a file for each job, RUN/job/launches/ID.jsonl, in which that job alone writes (once
// Slurm says that it is over, whoever notes its end), and RUN/job/launches.jsonl for people and scripts, which has the
// lines of all of them, oldest first.
//
// Two jobs of a run may note something at the same time, from two nodes (the end of one, the begin of the next; one
// that is refused the directory). No way of adding a line to one shared file is safe wherever runs lie. O_APPEND is, on
// a local file system and on Lustre; an NFS client looks for the end itself and writes there, over what another has
// written meanwhile. Locks are off, or of one node, on many mounts of Lustre and BeeGFS, and may be waited for in vain
// on NFS. A rename undoes what came since the file was read. So nothing that counts is shared: a job's own file is
// replaced by a rename, and launches.jsonl, which counts only for jobs without such a file, is made anew until it has
// all that is there.

/// The launches of one job, oldest first.
struct JobLaunches {
  std::vector<LaunchRecord> records;
  bool is_whole = true;  ///< false: its file, or a line of it, could not be read, which has been told
};

/// By job. Lines of launches.jsonl count for jobs that have no file of their own, as an older version left them. What
/// cannot be read is warned of and left out: a job shall not end for it.
std::map<std::string, JobLaunches> read_launches(const std::string& run_dir);

/// All of them, each job's in their order, jobs by when a launch began.
std::vector<LaunchRecord> in_order(const std::map<std::string, JobLaunches>& launches);

/// Replaces the file of a job; one that was not whole is kept as ID.jsonl.damaged. Internal error where it cannot.
void write_launches(const std::string& run_dir, const std::string& job, const JobLaunches& launches);

/// Makes launches.jsonl anew. A warning where that is refused.
void write_all_launches(const std::string& run_dir);

}  // namespace octet
