#include "src/device/hardware_queues.h"

#include <cstdlib>

namespace octet {

void ask_for_hardware_queues() {
  setenv(hardware_queues_variable, "32", 0);  // 0: what is set stays
}

}  // namespace octet
