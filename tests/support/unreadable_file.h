#pragma once

#include <fcntl.h>

#include <cerrno>
#include <string>

#include "src/base/files.h"

namespace octet::test {

/// A file that nobody may read, root neither (EACCES): a setting of Linux that can only be written. Empty where the
/// system has none.
inline std::string unreadable_file() {
  for (const char* path : {"/proc/sys/vm/compact_memory", "/proc/sys/net/ipv4/route/flush"}) {
    if (!FileHandle(::open(path, O_RDONLY | O_CLOEXEC)) && errno == EACCES) return path;
  }
  return "";
}

}  // namespace octet::test
