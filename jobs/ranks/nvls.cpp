#include "jobs/ranks/nvls.h"

#include <cstdint>
#include <cstdlib>

#include "src/base/log.h"
#include "src/cluster/environment/conf_file.h"
#include "src/comm/control_exchange.h"

namespace octet {
namespace {

constexpr const char* nvls_variable = "NCCL_NVLS_ENABLE";

/// Says whether NCCL is told already. It takes an empty value for none.
bool nvls_is_told() {
  const Machine machine;
  const auto own = machine.environment().find(nvls_variable);
  if (own != machine.environment().end()) return !own->second.empty();
  const auto files = conf_values(machine);
  const auto of_file = files.find(nvls_variable);
  return of_file != files.end() && !of_file->second.value.empty();
}

}  // namespace

void choose_nvls(const NvlsMeans& mine, Communicator& control) {
  // The first rank without, counted from the end: its number is the largest.
  const std::int32_t first = largest(mine.multicast ? 0 : control.size() - control.rank(), control);
  const std::int32_t most_of_node = largest(mine.local_size, control);
  if (nvls_is_told()) return;
  setenv(nvls_variable, first == 0 ? "1" : "0", 1);
  if (mine.compute_capability < 90 || most_of_node < 2) return;
  if (first == 0) {
    log::info("NVLink SHARP is on (NCCL_NVLS_ENABLE=1), since the GPUs of all ranks have multicast");
  } else {
    log::info("NVLink SHARP is off, since the GPU of rank {} has no multicast (docs/problems.md, \"NVLink SHARP\")",
              control.size() - first);
  }
}

}  // namespace octet
