#pragma once

#include <memory>

#include "src/comm/communicator.h"

namespace octet::test {

/// The NCCL backend for all ranks, which share the machine's first GPU, behind the buffers of a CPU's caller: what is
/// sent is copied to the device before, what is received is copied back when the call, or the outermost group, has
/// ended. `stream` (CPU) is the one it claims to be bound to. NCCL's communicator of all ranks is made once and lives
/// until the program's tests have ended: it takes longer than any test.
std::unique_ptr<Communicator> make_staged(Stream& stream);

}  // namespace octet::test
