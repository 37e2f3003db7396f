#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/doctor/free_space.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr double gib = 1024.0 * 1024 * 1024;

Finding check_space(const std::string& folder, const FreeSpace& space) {
  const std::string seen = fmt::format("{:.1f} GiB free on {} for {}", space.bytes / gib, space.mounted_on, folder);
  const char* advice =
      "remove old checkpoints (octet checkpoint prune) or put the run directory elsewhere; a checkpoint takes 12 bytes "
      "a parameter";
  if (space.bytes < gib) return {"storage.space", FindingState::bad, seen, "1 GiB", advice};
  if (space.bytes < 20 * gib) return {"storage.space", FindingState::warning, seen, "20 GiB", advice};
  return good("storage.space", seen);
}

/// Preparing data takes flock(LOCK_EX | LOCK_NB), so that no two programs write one file. A run takes no lock.
Finding check_locks(const Examination& e, const std::string& folder) {
  const char* check = "storage.locks";
  const FileSystem* known = e.profile == nullptr ? nullptr : e.profile->file_system_of(folder);
  if (known != nullptr && !known->locks) {
    return good(check, fmt::format("not used: {} has none, as {} says", known->path, e.profile->name));
  }
  const std::string file = fmt::format("{}/.octet-doctor-{}-{}", folder, e.machine.name(), getpid());
  const ProgramResult result = e.machine.run("flock", {"flock", "--exclusive", "--nonblock", file, "true"}, 5);
  std::error_code error;
  if (result.succeeded()) {
    if (e.machine.is_live()) fs::remove(file, error);
    return good(check, "flock works in " + folder);
  }
  if (!result.found) return missing(check, false, result.failure("flock (package util-linux)"), "", "");
  if (!result.timed_out && e.machine.is_live()) fs::remove(file, error);
  constexpr int no_input = 66, not_created = 73;  // of flock: the file could not be opened
  if (result.timed_out || result.exit_code == no_input || result.exit_code == not_created) {
    return {check, FindingState::bad, result.failure("flock in " + folder), "a folder in which files can be made",
            "make it writable; does its file server answer (mount, dmesg)?"};
  }
  return {check, FindingState::warning, result.failure("flock in " + folder),
          "locks, which octet prepare needs; a run and its checkpoints need none",
          "prepare data elsewhere, or mount Lustre with -o flock; locks: false in the profile says that it is known"};
}

}  // namespace

Findings node_checks::check_storage(const Examination& e) {
  const FreeSpace space = free_space(e.machine, "df", e.run_dir);
  if (!space.asked) return {missing("storage.space", false, space.reason, "", "")};
  if (!space.known) {
    return {{"storage.space", FindingState::bad, space.reason, "an answer of the file system",
             "does the folder exist, and does its file server answer (mount, dmesg)?"}};
  }
  return {check_space(e.run_dir, space), check_locks(e, e.run_dir)};
}

}  // namespace octet
