#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/communicator.h"

namespace octet {

// What ranks tell each other beside the work of their devices. All of them do so by the group `control`, the CPU side
// of all ranks in the mesh's order, which has that name in traces and tables of collectives too; some by a part of it.
// Payloads are host memory, so such a group is on a CPU stream (an internal error otherwise). Collective over the
// group, main thread.

/// The bytes of every rank, in the order of ranks. Their lengths may differ.
std::vector<std::string> gather_bytes(const std::string& mine, Communicator& group);
/// The same for rank `root` alone, which takes one message after the other; nothing on the others, which so need no
/// memory for what all ranks say.
std::vector<std::string> gather_bytes_to(int root, const std::string& mine, Communicator& group);
/// To each rank its own of the bytes that rank `root` passes, one string a rank; what the others pass is not read.
std::string scatter_bytes(const std::vector<std::string>& of_root, int root, Communicator& group);
/// The bytes of rank `root`; what the others pass is not read.
std::string broadcast_bytes(const std::string& of_root, int root, Communicator& group);
/// The largest of all ranks' numbers, at each place.
void largest(std::int32_t* values, std::int64_t count, Communicator& group);
std::int32_t largest(std::int32_t mine, Communicator& group);

}  // namespace octet
