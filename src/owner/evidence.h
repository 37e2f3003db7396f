#pragma once

#include <functional>
#include <optional>
#include <string>

#include "src/metrics/status.h"
#include "src/owner/record.h"
#include "src/owner/verdict.h"

namespace octet {

/// Seconds since the time of `file`, by the clock of its file server: a file that is made beside it, and removed, has
/// the server's time now. Nothing where none can be made there, or `file` is not there. A client of Lustre tells its
/// server the time by its own clock, so that there this is the difference of two machines' clocks.
std::optional<double> age_by_file_server(const std::string& file);

/// Says whether the time of `file` changes within so many seconds, and returns as soon as it does. Only times of this
/// one file are compared, which its owner sets, so no two clocks have to agree. A file that another one has replaced
/// has not been renewed. `between_looks` is called at least once a second, but for what the file system takes.
bool is_renewed_within(const std::string& file, double seconds, const std::function<void()>& between_looks = nullptr);

/// Asks Slurm whether no process of that launch is left. Nothing where there is no Slurm, it does not answer within
/// four seconds, or it is the Slurm of another cluster.
std::optional<bool> ask_slurm(const JobLaunch& job);

/// Looks for signs of an owner: within a second, five where Slurm has to be asked. `file`: its record's, for its age.
OwnerStanding examine(const OwnerRecord& owner, const std::string& file, const JobLaunch& mine,
                      double patience = owner_patience_seconds());

/// Who owns a run directory, as an onlooker sees it; nothing where no run has said so.
std::optional<OwnerStanding> ask_owner(const std::string& run_dir);

/// The status as far as it can be believed. One that says "running" although the owner of the run is gone was left by a
/// process that was killed: its state becomes "lost", and its reason says who that was and by what sign it is gone.
/// Where the script of its job was told to end, it becomes "stopped" instead, and the reason says by whom; so does a
/// status that is older than the owner, which was killed while it started. Others, and those of runs without an owner,
/// stay as they are.
RunStatus believed(RunStatus status, const std::optional<OwnerStanding>& owner);

}  // namespace octet
