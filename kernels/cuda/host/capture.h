#pragma once

#include "src/device/device.h"

namespace octet::cuda {

/// Says whether work that is put on the stream goes into a CUDA graph instead of to the device.
bool is_capturing(Stream& stream);

/// Throws an internal error while the stream is being captured: `what` allocates or waits, which a capture forbids
/// (https://docs.nvidia.com/cuda/cuda-programming-guide/, "Prohibited and Unhandled Operations" of stream capture).
void refuse_capture(Stream& stream, const char* what);

}  // namespace octet::cuda
