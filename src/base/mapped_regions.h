#pragma once

#include <cstddef>
#include <string>

namespace octet::mapped_regions {

// A page of a mapped file that cannot be read (the file was truncated during the run, the disk failed, the server is
// gone) raises SIGBUS on the thread that reads it. So that the process can say which file that was, whoever maps a file
// puts it into a table; the watchdog (src/comm/watchdog.h) holds a Guard, which handles the signal, and asks
// unreadable().

/// Puts these bytes, which are mapped from the file `path`, into the table, which grows as it must. Returns the number
/// of the entry, for remove(), which does nothing with -1. Any thread, both.
int add(const void* begin, std::size_t bytes, const std::string& path);
void remove(int entry) noexcept;

/// While it lives, a thread that faults in an entry of the table stands still, and unreadable() names its file. Any
/// other SIGBUS does what it did before. One at a time in a process.
class Guard {
 public:
  Guard();
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

/// The file of the first such fault; null where there was none.
const char* unreadable();

}  // namespace octet::mapped_regions
