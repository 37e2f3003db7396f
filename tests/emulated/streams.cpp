#include "tests/emulated/streams.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include "tests/emulated/checks/stream_races.h"
#include "tests/emulated/emulated_launch.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {

Device& Device::get() {
  static auto* device = new Device;  // never ends: handles are closed as the program does
  return *device;
}

void GraphWork::add(std::size_t lane, std::string what, Work piece) {
  work.push_back(std::move(piece));
  moments.push_back({std::move(what), lane, work.size(), clock(lane)});
  clock(lane).raise(lane, work.size());
}

void GraphWork::run(const std::vector<Lane>& launched) const {
  Clock& launch = Doing::now().clock;
  std::vector<Clock> ends;  // of each piece: what is before the next of its lane
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Moment& captured = moments[i];
    Moment now{captured.what, 0, 0, launch};
    for (const Lane& lane : launched) {
      if (const std::uint64_t last = captured.clock.of(lane.captured); last > 0) now.clock.join(ends[last - 1]);
      if (lane.captured != captured.lane) continue;
      now.lane = lane.own;
      now.position = lane.before + captured.position;
    }
    now.clock.raise(now.lane, now.position);
    const Doing doing(std::move(now));
    work[i]();
    ends.push_back(Doing::now().clock);
  }
  for (const Clock& end : ends) launch.join(end);
}

Clock& GraphWork::clock(std::size_t lane) {
  if (lane >= of_stream.size()) of_stream.resize(lane + 1);
  return of_stream[lane];
}

std::shared_ptr<Stream> Device::started() {
  auto made = std::make_shared<Stream>();
  made->order = order;
  made->lane = lanes_.begin(host_);
  made->given = made->done = made->wanted = lanes_.last(made->lane);
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
  run_until(lock, s, s->given);  // which no program may count on: the host knows nothing more
  lanes_.last(s->lane) = s->given;
  lanes_.end(s->lane);
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

void Device::give(cudaStream_t handle, std::string what, Work work) {
  const auto s = stream(handle);
  if (s->capture != nullptr) {
    s->capture->add(s->lane, std::move(what), std::move(work));
    return;
  }
  s->queue.push_back({std::move(work), std::move(what), host_});
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
  auto all = streams_;
  if (standard_ != nullptr) all.push_back(standard_);
  for (const auto& s : all) {
    run_until(lock, s, s->given);
    host_.join(s->clock);
  }
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
  const Piece piece = std::move(s.queue.front());
  s.queue.pop_front();
  if (broken == cudaSuccess) {
    s.clock.join(piece.host);
    s.clock.raise(s.lane, s.done + 1);
    const Doing doing({piece.what, s.lane, s.done + 1, s.clock});
    lock.unlock();
    std::string fault;
    try {
      piece.work();
    } catch (const Fault& f) {
      fault = f.what();
    }
    lock.lock();
    s.clock.join(Doing::now().clock);
    if (!fault.empty()) {
      broken = cudaErrorLaunchFailure;
      std::cerr << "emulated device: " << fault << '\n';
      if (on_fault != nullptr) on_fault();
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
    s->capture->clock(s->lane).join(point->clock);
    return cudaSuccess;
  }
  if (s->capture != nullptr) {
    s->invalid = true;
    return cudaErrorStreamCaptureIsolation;
  }
  give(handle, "cudaStreamWaitEvent", [this, point] {
    Lock lock(mutex);
    run_until(lock, point->stream, point->position);
    Doing::now().clock.join(point->clock);
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

GraphWork* Device::instantiate(const GraphWork& graph) {
  auto* executable = new GraphWork(graph);
  for (const Moment& moment : graph.moments) {
    const bool is_new = std::none_of(executable->lanes.begin(), executable->lanes.end(),
                                     [&](const auto& lane) { return lane.captured == moment.lane; });
    if (is_new) executable->lanes.push_back({moment.lane, lanes_.begin(host_)});
  }
  return executable;
}

std::shared_ptr<Point> Device::record(cudaStream_t handle) {
  const auto point = std::make_shared<Point>();
  point->stream = stream(handle);
  point->capture = point->stream->capture;
  if (point->capture != nullptr) {
    point->clock = point->capture->clock(point->stream->lane);
  } else {
    give(handle, "cudaEventRecord", [this, point] {
      const Lock lock(mutex);
      point->reached = std::chrono::steady_clock::now();
      point->is_reached = true;
      point->clock = Doing::now().clock;
    });
  }
  point->position = point->stream->given;
  return point;
}

/// Each launch is behind the one before, as CUDA has it.
void Device::launch(GraphWork& executable, cudaStream_t handle) {
  if (executable.last_launch != nullptr) wait(handle, executable.last_launch);
  auto lanes = executable.lanes;
  for (GraphWork::Lane& lane : lanes) lane.before = lanes_.last(lane.own);
  for (const GraphWork::Lane& lane : lanes) lanes_.last(lane.own) += executable.work.size();
  give(handle, "cudaGraphLaunch", [&executable, lanes = std::move(lanes)] { executable.run(lanes); });
  executable.last_launch = record(handle);
}

cudaError_t Device::end(GraphWork* executable) {
  const bool is_done = executable->last_launch == nullptr || executable->last_launch->is_reached;
  if (!is_done && broken == cudaSuccess) {
    std::cerr << "emulated device: a graph is destroyed before its last launch is done\n";
    return broken = cudaErrorLaunchFailure;
  }
  for (const GraphWork::Lane& lane : executable->lanes) lanes_.end(lane.own);
  if (is_done) delete executable;
  return cudaSuccess;
}

}  // namespace octet::emulated
