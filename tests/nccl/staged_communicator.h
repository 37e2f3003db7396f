#pragma once

#include <memory>

#include "src/comm/communicator.h"

namespace octet::test {

/// The NCCL backend for all ranks, each on a GPU of its own or sharing one, behind the buffers of a CPU's caller: what
/// is sent is copied to the device before, what is received is copied back when the call, or its group, has ended.
/// `stream` (CPU) is the one it claims to be bound to.
std::unique_ptr<Communicator> make_staged(Stream& stream);

}  // namespace octet::test
