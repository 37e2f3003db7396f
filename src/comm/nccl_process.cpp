#include "src/comm/nccl_process.h"

#include <sys/resource.h>

#include <cstdlib>

namespace octet {

void prepare_process_for_nccl() {
  setenv(nccl_launch_order_variable, "1", 0);  // 0: what is set stays
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // where it is refused, NCCL says what it lacks
}

}  // namespace octet
