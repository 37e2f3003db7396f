#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace octet {

// What Linux says of processes (/proc). What cannot be read is empty.

std::string boot_id();
/// "pid:[4026531836]" of this process.
std::string pid_namespace();

struct ProcessTrace {
  std::int64_t start_ticks = 0;  ///< since the boot, when it started
};

/// A process of this pid namespace that is alive: one that has ended, and is only not waited for, is none, unless a
/// thread of it is left inside a system call.
std::optional<ProcessTrace> find_process(std::int64_t pid);

}  // namespace octet
