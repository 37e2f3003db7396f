#include "tests/emulated/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "tests/emulated/emulated_launch.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {

Device& Device::get() {
  static auto* device = new Device;  // never ends: handles are closed as the program does
  return *device;
}

cudaStream_t Device::make_stream() {
  streams.push_back(std::make_shared<Stream>());
  return reinterpret_cast<cudaStream_t>(streams.back().get());
}

void Device::destroy(cudaStream_t handle) {
  const auto s = stream(handle);
  run_until(*s, s->given);
  std::erase(streams, s);
}

std::shared_ptr<Stream> Device::stream(cudaStream_t handle) {
  static const auto standard = std::make_shared<Stream>();
  if (handle == nullptr) return standard;
  const auto found = std::find_if(streams.begin(), streams.end(),
                                  [&](const auto& s) { return s.get() == reinterpret_cast<Stream*>(handle); });
  if (found == streams.end()) throw Fault("a stream that does not exist");
  return *found;
}

void Device::give(cudaStream_t handle, Work work) {
  const auto s = stream(handle);
  if (s->capture != nullptr) {
    s->capture->work.push_back(std::move(work));
    return;
  }
  s->queue.push_back(std::move(work));
  ++s->given;
}

void Device::run_until(Stream& s, std::uint64_t position) {
  while (s.done < position && broken == cudaSuccess) {
    const Work work = std::move(s.queue.front());
    s.queue.pop_front();
    try {
      work();
    } catch (const Fault& f) {
      broken = cudaErrorLaunchFailure;
      std::cerr << "emulated device: " << f.what() << '\n';
    }
    ++s.done;
  }
}

void Device::run_all() {
  const auto all = streams;
  for (const auto& s : all) run_until(*s, s->given);
  const auto standard = stream(nullptr);
  run_until(*standard, standard->given);
}

cudaError_t Device::wait(cudaStream_t handle, const std::shared_ptr<Point>& point) {
  const auto s = stream(handle);
  if (point == nullptr || (point->capture == nullptr && point->stream == s && s->capture == nullptr))
    return cudaSuccess;
  if (point->capture != nullptr) {
    if (s->capture != nullptr && s->capture != point->capture) return cudaErrorStreamCaptureMerge;
    s->capture = point->capture;  // the stream joins; the order of what is given is the graph's
    return cudaSuccess;
  }
  if (s->capture != nullptr) {
    s->invalid = true;
    return cudaErrorStreamCaptureIsolation;
  }
  give(handle, [this, point] { run_until(*point->stream, point->position); });
  return cudaSuccess;
}

cudaError_t Device::begin_capture(cudaStream_t handle) {
  const auto s = stream(handle);
  if (handle == nullptr) return cudaErrorStreamCaptureUnsupported;
  if (s->capture != nullptr) return cudaErrorIllegalState;
  s->capture = std::make_shared<GraphWork>();
  s->invalid = false;
  return cudaSuccess;
}

cudaError_t Device::end_capture(cudaStream_t handle, GraphWork** graph) {
  const auto s = stream(handle);
  *graph = nullptr;
  if (s->capture == nullptr) return cudaErrorIllegalState;
  const auto captured = s->capture;
  bool valid = true;
  for (const auto& other : streams) {
    if (other->capture != captured) continue;
    valid = valid && !other->invalid;
    other->capture = nullptr;
    other->invalid = false;
  }
  if (!valid) return cudaErrorStreamCaptureInvalidated;
  *graph = new GraphWork(*captured);
  return cudaSuccess;
}

}  // namespace octet::emulated
