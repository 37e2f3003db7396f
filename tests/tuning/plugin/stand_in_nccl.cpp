// Stands in for libnccl.so.2 where the plugin asks about it: the logger that it is given lies in this library, beside
// ncclGetVersion, and the global scope sees neither.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {
std::mutex mutex;
std::string lines;
}  // namespace

extern "C" {

/// OCTET_STAND_IN_NCCL has the version, 22809; without it there is none to tell.
int ncclGetVersion(int* version) {
  const char* const text = std::getenv("OCTET_STAND_IN_NCCL");
  if (text == nullptr) return 1;
  *version = std::atoi(text);
  return 0;
}

void stand_in_log(unsigned level, unsigned long, const char*, int, const char* format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(mutex);
  lines += level == 2 ? "WARN " : "INFO ";
  lines += text;
  lines += '\n';
}

/// What was logged since the last call; valid until the next one.
const char* stand_in_lines() {
  static std::string taken;
  const std::lock_guard lock(mutex);
  taken.swap(lines);
  lines.clear();
  return taken.c_str();
}
}
