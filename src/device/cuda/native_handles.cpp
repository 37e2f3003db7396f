#include "src/device/cuda/native_handles.h"

#include "src/device/cuda/check.h"

namespace octet::cuda {

StreamHandle make_native_stream(StreamPriority priority) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for the priorities of streams");
  StreamHandle stream;
  check(cudaStreamCreateWithPriority(stream.out(), cudaStreamNonBlocking,
                                     priority == StreamPriority::high ? greatest : least),
        "creating a stream");
  return stream;
}

EventHandle make_native_event(unsigned flags) {
  EventHandle event;
  check(cudaEventCreateWithFlags(event.out(), flags), "creating an event");
  return event;
}

}  // namespace octet::cuda
