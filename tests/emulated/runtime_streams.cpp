// CUDA's run time for the emulated device: streams, events and graphs.
#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/runtime.h"

namespace octet::emulated {
namespace {

Event* of(cudaEvent_t event) {
  return reinterpret_cast<Event*>(event);
}

bool capturing(Device& device, cudaStream_t stream) {
  return device.stream(stream)->capture != nullptr;
}

}  // namespace

cudaError_t finish(Device& device, Lock& lock, cudaStream_t stream) {
  const auto s = device.stream(stream);
  if (s->capture != nullptr) {
    s->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  device.run_until(lock, s, s->given);
  device.host_knows(s->clock);
  return cudaSuccess;
}

}  // namespace octet::emulated

using namespace octet::emulated;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return call([&](Device& device, Lock&) {
    *stream = device.make_stream();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call([&](Device& device, Lock& lock) {
    device.destroy(lock, stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call([&](Device& device, Lock& lock) { return finish(device, lock, stream); });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call([&](Device& device, Lock&) {
    *status = capturing(device, stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call([&](Device& device, Lock&) {
    device.give(stream, "cudaLaunchHostFunc", [function, data] { function(data); });
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&](Device& device, Lock&) {
    of(event)->point = device.record(stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call([&](Device& device, Lock&) { return device.wait(stream, of(event)->point); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call([&](Device& device, Lock& lock) {
    const auto point = of(event)->point;
    if (point != nullptr && point->capture != nullptr) return cudaErrorCapturedEvent;
    if (point == nullptr) return cudaSuccess;
    device.run_until(lock, point->stream, point->position);
    device.host_knows(point->clock);
    return cudaSuccess;
  });
}
/// Who asks is waiting: the work begins.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call([&](Device& device, Lock&) {
    const auto& point = of(event)->point;
    if (point != nullptr && point->is_reached) device.host_knows(point->clock);
    if (point == nullptr || point->is_reached) return cudaSuccess;
    if (point->capture != nullptr) return cudaErrorCapturedEvent;
    device.begin(*point->stream, point->position);
    return cudaErrorNotReady;
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return call([&](Device&, Lock&) {
    const auto &a = of(from)->point, &b = of(to)->point;
    if (a == nullptr || b == nullptr) return cudaErrorInvalidResourceHandle;
    if (!a->is_reached || !b->is_reached) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(b->reached - a->reached).count();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return call([&](Device& device, Lock&) { return device.begin_capture(stream); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call([&](Device& device, Lock&) {
    GraphWork* work = nullptr;
    const cudaError_t status = device.end_capture(stream, &work);
    *graph = reinterpret_cast<cudaGraph_t>(work);
    return status;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return call([&](Device& device, Lock&) {
    *executable = reinterpret_cast<cudaGraphExec_t>(device.instantiate(*reinterpret_cast<GraphWork*>(graph)));
    return cudaSuccess;
  });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call([&](Device& device, Lock&) {
    device.launch(*reinterpret_cast<GraphWork*>(executable), stream);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<GraphWork*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  Device& device = Device::get();
  const Lock lock(device.mutex);
  return device.end(reinterpret_cast<GraphWork*>(executable));
}
}
