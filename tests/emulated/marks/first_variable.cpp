// Linked before the kernels.
#include "tests/emulated/block_shared_memory.h"

namespace octet::emulated {
thread_local char first_variable[64];
}  // namespace octet::emulated
