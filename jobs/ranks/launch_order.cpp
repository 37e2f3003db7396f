#include "jobs/ranks/launch_order.h"

#include <fmt/format.h>

#include <cstdlib>

#include "src/base/log.h"
#include "src/comm/nccl_communicator.h"
#include "src/comm/nccl_process.h"

namespace octet {

std::string launch_order_obstacle(int version, const char* variable) {
  constexpr int since = 22600;
  if (version < since) {
    return fmt::format("NCCL is {}.{}.{} and keeps no order of launches", version / 10000, version / 100 % 100,
                       version % 100);
  }
  if (variable != nullptr && std::strtoll(variable, nullptr, 0) != 0) return "";
  return fmt::format("{} is not 1", nccl_launch_order_variable);
}

void warn_of_launch_order() {
  if (nccl_in_use() == 0) return;
  const std::string obstacle = launch_order_obstacle(nccl_in_use(), std::getenv(nccl_launch_order_variable));
  if (obstacle.empty()) return;
  log::warning(
      "operations of several groups may wait for each other on the GPUs for ever: {}; expected NCCL 2.26 or newer with "
      "{} = 1, which is set where the environment says nothing (docs/cuda-backend.md)",
      obstacle, nccl_launch_order_variable);
}

}  // namespace octet
