#include "src/comm/nccl_process.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

namespace octet {

void prepare_process_for_nccl() {
  setenv(nccl_launch_order_variable, "1", 0);  // 0: what is set stays
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = std::max(files.rlim_cur, std::min<rlim_t>(files.rlim_max, most_open_files));
  setrlimit(RLIMIT_NOFILE, &files);  // where it is refused, NCCL says what it lacks
}

}  // namespace octet
