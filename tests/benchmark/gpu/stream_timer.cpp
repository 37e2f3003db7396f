#include "tests/benchmark/gpu/stream_timer.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <type_traits>

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

}  // namespace

Timing time_launches(Stream& stream, const std::vector<Launch>& rotation, double budget, bool in_graph) {
  const auto rounds_of = [&](int rounds) {
    for (int r = 0; r < rounds; ++r) {
      for (const Launch& launch : rotation) launch();
    }
  };
  rounds_of(1);  // plans are made and modules loaded here, where a capture would forbid it
  stream.synchronize();
  const double round = std::max(seconds_of(stream, [&] { rounds_of(1); }), 1e-6);

  // A repeat of 2 ms makes the events' own microsecond small; more than 100 launches make a graph slow to build.
  const int most_rounds = std::max(1, 100 / static_cast<int>(rotation.size()));
  const int rounds = std::clamp(static_cast<int>(2e-3 / round), 1, most_rounds);
  Timing timing{.launches = rounds * static_cast<int>(rotation.size())};
  Launch all = [&] { rounds_of(rounds); };
  ExecutableGraph graph;
  if (in_graph && stream.native() != nullptr) graph = capture(stream, all);
  if (graph) {
    timing.graph = true;
    all = [&] { check(cudaGraphLaunch(graph.get(), native(stream)), "launching a graph"); };
    all();  // the first launch uploads it
  }

  timing.repeats = std::clamp(static_cast<int>(budget / (round * rounds)), 5, 25);
  std::vector<double> seconds;
  for (int i = 0; i < timing.repeats; ++i) seconds.push_back(seconds_of(stream, all) / timing.launches);
  std::sort(seconds.begin(), seconds.end());
  timing.seconds = seconds[seconds.size() / 2];
  timing.lowest = seconds.front();
  timing.highest = seconds.back();
  return timing;
}

}  // namespace octet::bench
