#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/emulated/checks/moments.h"

/// Streams, events and graphs of the emulated device. A stream has a thread, which does its work as early as it may, at
/// once, or as late: when the host waits for it, or another stream that the host waits for does. Work that does not
/// wait for what it needs meets what is not there yet on a late stream; what is freed or overwritten too early is gone
/// on an early one. A graph's work is done in the order in which it was captured. The handles of CUDA's interface are
/// pointers to these.
namespace octet::emulated {

/// A number of the environment.
inline std::size_t setting(const char* name, std::size_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

using Work = std::function<void()>;
using Lock = std::unique_lock<std::mutex>;

/// Work that a stream was given.
struct Piece {
  Work work;
  std::string what;  ///< for messages
  Clock host;        ///< what the host had waited for
};

struct Point;

/// A graph, or what can be launched of one.
struct GraphWork {
  /// For a stream that was captured, by its lane: the graph's own lane, and how much of it is before a launch.
  struct Lane {
    std::size_t captured, own;
    std::uint64_t before = 0;
  };

  std::vector<Work> work;
  std::vector<Moment> moments;   ///< of each, of the captured lanes; its clock without itself
  std::vector<Clock> of_stream;  ///< by those lanes, while it is captured
  std::vector<Lane> lanes;       ///< of what is launched
  std::shared_ptr<Point> last_launch;

  void add(std::size_t lane, std::string what, Work piece);
  /// All of it, as a piece of a stream's work.
  void run(const std::vector<Lane>& launched) const;
  Clock& clock(std::size_t lane);
};

/// When streams work.
enum class Order : std::uint8_t {
  early,
  late,
  mixed,  ///< each is early or late by what is drawn for it, and drawn again after a stretch of work
};

struct Stream {
  Order order = Order::mixed;
  bool early = false;
  int stretch = 0;  ///< pieces of work until it is drawn again whether the stream is early; 0: never
  std::deque<Piece> queue;
  std::size_t lane = 0;
  Clock clock;                                    ///< what is before the piece that it does next
  std::uint64_t given = 0, done = 0, wanted = 0;  ///< pieces of work
  bool ends = false;
  std::shared_ptr<GraphWork> capture;  ///< what is given goes there, while there is one
  bool began_capture = false;
  std::thread::id captures;  ///< whose calls the capture looks at
  bool invalid = false;      ///< the capture, for something that it forbids
};

/// A point in a stream. Shared with the stream's work, which may outlive the handle.
struct Point {
  std::shared_ptr<Stream> stream;
  std::uint64_t position = 0;
  Clock clock;  ///< what is before it, once it is reached
  std::shared_ptr<GraphWork> capture;
  std::chrono::steady_clock::time_point reached;
  bool is_reached = false;
};

/// An event's handle: the point where it was recorded last.
struct Event {
  std::shared_ptr<Point> point;
};

/// All of it. Functions with a Lock are called with the mutex held, which waiting gives away. Work runs without it.
class Device {
 public:
  static Device& get();

  std::mutex mutex;
  Order order = Order::mixed;  ///< of streams that are made from now on
  cudaError_t last_error = cudaSuccess;
  void (*on_fault)() = nullptr;      ///< for peers that would wait for ever
  cudaError_t broken = cudaSuccess;  ///< a kernel's fault, which every later call returns
  /// Other processes wait for what streams do here: so they do it, too, where the host has called nothing for a while.
  bool has_peers = false;
  std::chrono::steady_clock::time_point called;  ///< when the host did last

  cudaStream_t make_stream();
  void destroy(Lock& lock, cudaStream_t stream);
  std::shared_ptr<Stream> stream(cudaStream_t handle);

  /// Work for a stream, or for the graph that captures it. `what`: for messages.
  void give(cudaStream_t handle, std::string what, Work work);
  /// Has a stream work as far as there.
  void begin(Stream& stream, std::uint64_t position);
  /// The same, and waits.
  void run_until(Lock& lock, const std::shared_ptr<Stream>& stream, std::uint64_t position);
  void run_all(Lock& lock);
  /// For a piece of work that waits for another: what the other does is told with tell_waiting.
  template <typename Condition>
  void wait_until(Lock& lock, const Condition& condition) {
    changed_.wait(lock, condition);
  }
  void tell_waiting() { changed_.notify_all(); }
  /// The host knows that all of this is done.
  void host_knows(const Clock& done) { host_.join(done); }

  std::shared_ptr<Point> record(cudaStream_t stream);
  cudaError_t wait(cudaStream_t stream, const std::shared_ptr<Point>& event);
  cudaError_t begin_capture(cudaStream_t stream);
  /// Whether this thread captures; then the captures are invalid, for it does what they forbid.
  bool spoils_capture();
  cudaError_t end_capture(cudaStream_t stream, GraphWork** graph);
  GraphWork* instantiate(const GraphWork& graph);
  void launch(GraphWork& executable, cudaStream_t stream);
  cudaError_t end(GraphWork* executable);

 private:
  std::shared_ptr<Stream> started();
  void draw(Stream& stream);
  void work(Lock lock, const std::shared_ptr<Stream>& stream);
  void do_next(Lock& lock, Stream& stream);

  std::condition_variable changed_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::shared_ptr<Stream> standard_;
  Lanes lanes_;
  Clock host_;  ///< what is before all that the host gives from now on
  std::minstd_rand drawn_{static_cast<unsigned>(setting("OCTET_EMULATED_SEED", 1))};
};

}  // namespace octet::emulated
