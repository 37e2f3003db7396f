#include "src/comm/nccl_process.h"

#include <cstdlib>

#include "src/base/open_files.h"

namespace octet {

void prepare_process_for_nccl() {
  setenv(nccl_launch_order_variable, "1", 0);  // 0: what is set stays
  raise_limit_of_open_files();
}

}  // namespace octet
