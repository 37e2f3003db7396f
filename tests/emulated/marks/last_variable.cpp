// Linked behind the kernels.
#include "tests/emulated/block_shared_memory.h"

namespace octet::emulated {
thread_local char last_variable[64];
}  // namespace octet::emulated
