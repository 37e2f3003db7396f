#include "src/base/replace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "src/base/log.h"

namespace octet {

bool replace_file(const std::string& path, std::string_view text) {
  // Of this process alone: the rank tells those apart that have the same number on two machines.
  const std::string temporary = fmt::format("{}.{}-{}.tmp", path, log::rank(), ::getpid());
  std::ofstream file(temporary);
  file << text << std::flush;
  file.close();
  if (file && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
  const int why = errno;
  std::remove(temporary.c_str());
  errno = why;
  return false;
}

}  // namespace octet
