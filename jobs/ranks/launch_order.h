#pragma once

#include <string>

namespace octet {

/// Why NCCL does not start the operations of several communicators on the device in the order in which the host gave
/// them; empty where it does. `version`: NCCL's, as 22809. `variable`: the value of nccl_launch_order_variable
/// (src/comm/nccl_process.h), null where it is not set; NCCL takes an empty one for its default, 0.
std::string launch_order_obstacle(int version, const char* variable);

/// Warns where there is an obstacle and NCCL is used at all: what a rank gives to several streams may then hang, since
/// operations that the multiprocessors cannot hold at once start in another order on each GPU. To be called by one rank
/// whose groups work on several streams, when NCCL has made its world: it has read its files of settings into the
/// environment by then.
void warn_of_launch_order();

}  // namespace octet
