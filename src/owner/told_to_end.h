#pragma once

#include <optional>
#include <string>

namespace octet {

/// Why a job was told to end.
struct ToldToEnd {
  std::string text{};     ///< who ended it and when: "job 7 was cancelled at 2026-11-28T18:03:22Z"
  bool at_limit = false;  ///< of its time, its account's hours or its reservation
  bool node_failed = false;
  bool comes_back = false;  ///< its nodes were taken for another job, or it was put back into the queue
};

/// What the script of a Slurm job noted when it was told to end (SIGTERM), in RUN/job/ID/told-to-end: a
/// line with the time and the job's restart, then what `scontrol show job` and srun said. Slurm may kill script and
/// ranks before one of them can say more. So it counts only where nothing else says how the job's last launch ended.
/// The script launches nothing after it; a job that comes back from the queue ends that launch by it, then removes it.
/// Nothing where no such note is.
std::optional<ToldToEnd> told_to_end(const std::string& run_dir, const std::string& job);

/// Removes the note.
void forget_told_to_end(const std::string& run_dir, const std::string& job);

/// What `told` says, with what was lost: "...; its ranks were killed before they could save anything", or "save again"
/// where there is a checkpoint.
std::string killed_unsaved(const std::string& told, const std::string& checkpoint);

}  // namespace octet
