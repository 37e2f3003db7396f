#pragma once

namespace octet {

/// Environment variable of CUDA: how many hardware queues ("connections") a context has for its streams.
inline constexpr const char* hardware_queues_variable = "CUDA_DEVICE_MAX_CONNECTIONS";

/// Asks CUDA for 32 of them, the most there are, unless the environment says how many. By default there are 8, and two
/// streams that share one wait for each other where no event says so; a rank of several GPUs has more than 8 with
/// NCCL's own. To be called first in main: CUDA reads the variable once, when something of the process starts it, which
/// may be MPI, and another thread may not read the environment meanwhile. Without a GPU it has no effect.
void ask_for_hardware_queues();

}  // namespace octet
