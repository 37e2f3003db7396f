#include "tests/emulated/streams.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include "tests/emulated/emulated_launch.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {

Device& Device::get() {
  static auto* device = new Device;  // never ends: handles are closed as the program does
  return *device;
}

std::shared_ptr<Stream> Device::started() {
  auto made = std::make_shared<Stream>();
  made->order = order;
  draw(*made);
  // Detached: one that waits for a process that is gone must not keep this one.
  std::thread([this, made] { work(Lock(mutex), made); }).detach();
  return made;
}

/// Long stretches and short ones: a fault may need a stream that lags far behind, or one that is late just once.
void Device::draw(Stream& s) {
  s.early = s.order == Order::early || (s.order == Order::mixed && drawn_() / 8 % 2 == 0);
  s.stretch = s.order == Order::mixed ? 1 << (drawn_() / 8 % 11) : 0;
}

cudaStream_t Device::make_stream() {
  streams_.push_back(started());
  return reinterpret_cast<cudaStream_t>(streams_.back().get());
}

void Device::destroy(Lock& lock, cudaStream_t handle) {
  const auto s = stream(handle);
  run_until(lock, s, s->given);
  s->ends = true;
  changed_.notify_all();
  std::erase(streams_, s);
}

std::shared_ptr<Stream> Device::stream(cudaStream_t handle) {
  if (handle == nullptr) {
    if (standard_ == nullptr) standard_ = started();
    return standard_;
  }
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& s) { return s.get() == reinterpret_cast<Stream*>(handle); });
  if (found == streams_.end()) throw Fault("a stream that does not exist");
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
  if (s->stretch > 0 && --s->stretch == 0) draw(*s);
  if (s->early) begin(*s, s->given);
}

void Device::begin(Stream& s, std::uint64_t position) {
  s.wanted = std::max(s.wanted, position);
  changed_.notify_all();
}

void Device::run_until(Lock& lock, const std::shared_ptr<Stream>& s, std::uint64_t position) {
  if (s->done >= position) return;
  begin(*s, position);
  changed_.wait(lock, [&] { return s->done >= position; });
}

void Device::run_all(Lock& lock) {
  const auto all = streams_;
  for (const auto& s : all) run_until(lock, s, s->given);
  if (standard_ != nullptr) run_until(lock, standard_, standard_->given);
}

/// The thread of a stream.
void Device::work(Lock lock, const std::shared_ptr<Stream>& s) {
  constexpr auto a_while = std::chrono::milliseconds(20);
  while (!s->ends) {
    const bool idle = has_peers && std::chrono::steady_clock::now() - called > a_while;
    if (s->done < s->wanted || (idle && !s->queue.empty())) {
      do_next(lock, *s);
    } else if (has_peers) {
      changed_.wait_for(lock, a_while);
    } else {
      changed_.wait(lock);
    }
  }
}

void Device::do_next(Lock& lock, Stream& s) {
  const Work work = std::move(s.queue.front());
  s.queue.pop_front();
  if (broken == cudaSuccess) {
    lock.unlock();
    std::string fault;
    try {
      work();
    } catch (const Fault& f) {
      fault = f.what();
    }
    lock.lock();
    if (!fault.empty()) {
      broken = cudaErrorLaunchFailure;
      std::cerr << "emulated device: " << fault << '\n';
    }
  }
  ++s.done;
  changed_.notify_all();
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
  give(handle, [this, point] {
    Lock lock(mutex);
    run_until(lock, point->stream, point->position);
  });
  return cudaSuccess;
}

cudaError_t Device::begin_capture(cudaStream_t handle) {
  const auto s = stream(handle);
  if (handle == nullptr) return cudaErrorStreamCaptureUnsupported;
  if (s->capture != nullptr) return cudaErrorIllegalState;
  s->capture = std::make_shared<GraphWork>();
  s->captures = std::this_thread::get_id();
  s->began_capture = true;
  s->invalid = false;
  return cudaSuccess;
}

bool Device::spoils_capture() {
  bool spoils = false;
  for (const auto& s : streams_) {
    if (s->capture == nullptr || !s->began_capture || s->captures != std::this_thread::get_id()) continue;
    s->invalid = spoils = true;
  }
  return spoils;
}

cudaError_t Device::end_capture(cudaStream_t handle, GraphWork** graph) {
  const auto s = stream(handle);
  *graph = nullptr;
  if (s->capture == nullptr) return cudaErrorIllegalState;
  if (!s->began_capture) return cudaErrorStreamCaptureUnmatched;
  const auto captured = s->capture;
  bool valid = true;
  for (const auto& other : streams_) {
    if (other->capture != captured) continue;
    valid = valid && !other->invalid;
    other->capture = nullptr;
    other->invalid = other->began_capture = false;
  }
  if (!valid) return cudaErrorStreamCaptureInvalidated;
  *graph = new GraphWork(*captured);
  return cudaSuccess;
}

}  // namespace octet::emulated
