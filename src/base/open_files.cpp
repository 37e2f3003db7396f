#include "src/base/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace octet {

void raise_limit_of_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = std::max(files.rlim_cur, std::min<rlim_t>(files.rlim_max, most_open_files));
  setrlimit(RLIMIT_NOFILE, &files);  // who opens a file says what it lacks
}

}  // namespace octet
