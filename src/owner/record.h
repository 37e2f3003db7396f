#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace octet {

/// A launch of a Slurm job; no job where `id` is empty. Launches of one job are numbered by restart, then by launch.
struct JobLaunch {
  std::string cluster{};  ///< Slurm's name of it, empty where it is not known
  std::string id{};
  int restart = 0;  ///< SLURM_RESTART_COUNT
  int launch = 0;   ///< of the job's script since then (OCTET_LAUNCH); 0: not by the script
};

/// What owner.json in a run directory says: which process writes there. When it was last heard of is the file's time.
struct OwnerRecord {
  std::string name{};           ///< unlike any other's: letters, digits and dashes, fit for file names
  std::int64_t generation = 0;  ///< one more than that of the owner before it
  bool released = false;        ///< it ended and left the directory to the next
  std::string host{};
  std::string boot_id{};  ///< of the kernel: the same text, the same machine since its last start
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;  ///< when the process started, as /proc/PID/stat has it: a pid is used again
  std::string pid_namespace{};   ///< in which the pid counts
  JobLaunch job{};
  std::string since{};  ///< UTC, for readers
};

std::string to_json(const OwnerRecord& record);

/// Reads a record; nothing where the text is none.
std::optional<OwnerRecord> parse_owner(const std::string& text);

/// The text by which to_json says that the owner has not released the directory. It is as long as its opposite, so that
/// a few bytes written in place change it.
inline constexpr const char* unreleased_text = "\"released\": false";
inline constexpr const char* released_text = "\"released\": true ";

/// "process 4711 on node-17, Slurm job 12 (restart 0, launch 2), since 2026-11-22T09:54:53Z".
std::string describe(const OwnerRecord& record);
/// The description with boot and pid namespace, for the message of a refusal.
std::string describe_fully(const OwnerRecord& record);

/// This process, with a name of its own and generation 0.
OwnerRecord this_process();
/// The launch that this process belongs to, by the environment.
JobLaunch this_launch();

}  // namespace octet
