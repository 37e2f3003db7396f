#pragma once

#include <unistd.h>

#include "src/base/handle.h"

namespace octet {

struct FileTraits {
  using type = int;
  static type null() { return -1; }
  static void close(type file) noexcept { ::close(file); }
};

/// Closes a POSIX file descriptor. open's -1 is its null.
using FileHandle = Handle<FileTraits>;

}  // namespace octet
