#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

/// Streams, events and graphs of the emulated device. A stream does its work as late as it may: when the host waits for
/// it, or another stream that the host waits for does. Work that does not wait for what it needs, and memory that is
/// freed or overwritten too early, then have wrong results each time, not now and then.
/// The handles of CUDA's interface are pointers to these.
namespace octet::emulated {

using Work = std::function<void()>;

struct GraphWork {
  std::vector<Work> work;
};

struct Stream {
  std::deque<Work> queue;
  std::uint64_t given = 0, done = 0;
  std::shared_ptr<GraphWork> capture;  ///< what is given goes there, while there is one
  bool invalid = false;                ///< the capture, for something that it forbids
};

/// A point in a stream. Shared with the stream's work, which may outlive the handle.
struct Point {
  std::shared_ptr<Stream> stream;
  std::uint64_t position = 0;
  std::shared_ptr<GraphWork> capture;
  std::chrono::steady_clock::time_point reached;
  bool is_reached = false;
};

/// All of it, one call at a time.
class Device {
 public:
  static Device& get();

  std::recursive_mutex mutex;
  cudaError_t last_error = cudaSuccess;
  cudaError_t broken = cudaSuccess;  ///< a kernel's fault, which every later call returns

  cudaStream_t make_stream();
  void destroy(cudaStream_t stream);
  std::shared_ptr<Stream> stream(cudaStream_t handle);

  /// Work for a stream, or for the graph that captures it.
  void give(cudaStream_t handle, Work work);
  void run_until(Stream& stream, std::uint64_t position);
  void run_all();

  cudaError_t record(Point*& event, cudaStream_t stream);
  cudaError_t wait(cudaStream_t stream, const std::shared_ptr<Point>& event);
  cudaError_t begin_capture(cudaStream_t stream);
  cudaError_t end_capture(cudaStream_t stream, GraphWork** graph);

  std::vector<std::shared_ptr<Stream>> streams;
};

/// An event's handle: the point where it was recorded last.
struct Event {
  std::shared_ptr<Point> point;
};

}  // namespace octet::emulated
