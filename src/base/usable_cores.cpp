#include "src/base/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace octet {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  // More processors than the set can hold.
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace octet
