#pragma once

#include <cstdint>
#include <string>

namespace octet {

/// "Xid 79 (GPU has fallen off the bus): reboot the node; if it comes back, have the GPU looked at". Meanings and what
/// to do are those of NVIDIA's catalog for A100 and newer, in short:
/// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html. It is named for a number that is not here.
std::string describe_xid(std::uint64_t number);

}  // namespace octet
