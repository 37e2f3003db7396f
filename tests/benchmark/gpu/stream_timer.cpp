#include "tests/benchmark/gpu/stream_timer.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <type_traits>

#include "src/base/error.h"
#include "src/device/cuda/check.h"

namespace octet::bench {
namespace {

using cuda::check;

template <typename T, cudaError_t (*destroy)(T)>
struct Destroy {
  void operator()(T handle) const { destroy(handle); }
};
template <typename T, cudaError_t (*destroy)(T)>
using Unique = std::unique_ptr<std::remove_pointer_t<T>, Destroy<T, destroy>>;
using TimedEvent = Unique<cudaEvent_t, cudaEventDestroy>;
using Graph = Unique<cudaGraph_t, cudaGraphDestroy>;
using ExecutableGraph = Unique<cudaGraphExec_t, cudaGraphExecDestroy>;

TimedEvent make_timed_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "creating an event");
  return TimedEvent(event);
}

cudaStream_t native(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.native());
}

/// The launches as one graph; null where something in them cannot be captured.
ExecutableGraph capture(Stream& stream, const Launch& all) {
  check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal), "beginning a capture");
  bool captured = true;
  try {
    all();
  } catch (const std::exception&) {
    captured = false;
  }
  cudaGraph_t raw = nullptr;
  if (cudaStreamEndCapture(native(stream), &raw) != cudaSuccess) captured = false;
  const Graph graph(raw);
  cudaGraphExec_t executable = nullptr;
  if (captured && raw != nullptr && cudaGraphInstantiate(&executable, raw, 0) == cudaSuccess) {
    return ExecutableGraph(executable);
  }
  cudaGetLastError();  // a refused capture leaves its error behind
  return nullptr;
}

double seconds_on_gpu(Stream& stream, const Launch& all) {
  const TimedEvent begin = make_timed_event(), end = make_timed_event();
  check(cudaEventRecord(begin.get(), native(stream)), "recording an event");
  all();
  check(cudaEventRecord(end.get(), native(stream)), "recording an event");
  check(cudaEventSynchronize(end.get()), "the measured work");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "reading a time");
  return milliseconds * 1e-3;
}

double seconds_on_cpu(const Launch& all) {
  const auto start = std::chrono::steady_clock::now();
  all();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double seconds_of(Stream& stream, const Launch& all) {
  return stream.native() == nullptr ? seconds_on_cpu(all) : seconds_on_gpu(stream, all);
}

/// A repeat of one way, ready to be timed.
class Repeat {
 public:
  /// Makes plans and loads modules, which a capture would forbid. Throws what the launches throw.
  Repeat(Stream& stream, const Rotation& way)
      : stream_(stream), rounds_([&way](int rounds) {
          for (int r = 0; r < rounds; ++r) {
            for (const Launch& launch : way.launches) launch();
          }
        }) {
    rounds_(1);
    stream.synchronize();
    const double round = std::max(seconds_of(stream, [&] { rounds_(1); }), 1e-6);
    // A repeat of 2 ms makes the events' own microsecond small; more than 100 launches make a graph slow to build.
    const int most_rounds = std::max(1, 100 / static_cast<int>(way.launches.size()));
    const int rounds = std::clamp(static_cast<int>(2e-3 / round), 1, most_rounds);
    launches_ = rounds * static_cast<int>(way.launches.size());
    seconds_ = round * rounds;
    all_ = [this, rounds] { rounds_(rounds); };
    if (way.in_graph && stream.native() != nullptr) graph_ = capture(stream, all_);
    if (!graph_) return;
    all_ = [this] { check(cudaGraphLaunch(graph_.get(), native(stream_)), "launching a graph"); };
    all_();  // the first launch uploads it
    stream.synchronize();
  }
  Repeat(const Repeat&) = delete;
  Repeat& operator=(const Repeat&) = delete;

  double run() const { return seconds_of(stream_, all_); }
  double about() const { return seconds_; }
  int launches() const { return launches_; }
  bool is_graph() const { return graph_ != nullptr; }

 private:
  Stream& stream_;
  std::function<void(int)> rounds_;
  ExecutableGraph graph_;
  Launch all_;
  int launches_ = 0;
  double seconds_ = 0;
};

Timing timing_of(const Repeat& repeat, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  for (double& s : seconds) s /= repeat.launches();
  return {.seconds = seconds[seconds.size() / 2],
          .lowest = seconds.front(),
          .highest = seconds.back(),
          .repeats = static_cast<int>(seconds.size()),
          .launches = repeat.launches(),
          .graph = repeat.is_graph()};
}

}  // namespace

std::vector<Outcome> time_in_turns(Stream& stream, const std::vector<Rotation>& ways, double budget, double settle) {
  std::vector<Outcome> outcomes(ways.size());
  std::vector<std::unique_ptr<Repeat>> repeats(ways.size());
  double turn = 0;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    try {
      repeats[w] = std::make_unique<Repeat>(stream, ways[w]);
      turn += repeats[w]->about();
    } catch (const Error& error) {
      outcomes[w].refused = error.what();
    }
  }
  std::vector<std::vector<double>> seconds(ways.size());
  const auto take_turns = [&](int turns) {
    for (int i = 0; i < turns; ++i) {
      for (std::size_t w = 0; w < ways.size(); ++w) {
        if (repeats[w]) seconds[w].push_back(repeats[w]->run());
      }
    }
  };
  if (turn == 0) return outcomes;
  take_turns(static_cast<int>(settle / turn));
  for (auto& of_way : seconds) of_way.clear();
  const auto running = std::count_if(repeats.begin(), repeats.end(), [](const auto& r) { return r != nullptr; });
  take_turns(std::clamp(static_cast<int>(budget * static_cast<double>(running) / turn), 5, 25));
  for (std::size_t w = 0; w < ways.size(); ++w) {
    if (repeats[w]) outcomes[w].timing = timing_of(*repeats[w], std::move(seconds[w]));
  }
  return outcomes;
}

}  // namespace octet::bench
