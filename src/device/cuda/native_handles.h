#pragma once

#include <cuda_runtime_api.h>

#include "src/base/handle.h"
#include "src/device/device.h"

namespace octet::cuda {

using StreamHandle = Handle<ClosedBy<cudaStream_t, cudaStreamDestroy>>;
using EventHandle = Handle<ClosedBy<cudaEvent_t, cudaEventDestroy>>;

/// A stream of the current device that does not wait for the default stream. Throws as check().
StreamHandle make_native_stream(StreamPriority priority);
/// An event of the current device, by default one that takes no time. Throws as check().
EventHandle make_native_event(unsigned flags = cudaEventDisableTiming);

}  // namespace octet::cuda
