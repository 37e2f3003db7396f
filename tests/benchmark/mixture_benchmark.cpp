// How long it takes to find samples of a mixture: which source each of a global batch is of, which window, and how
// often the sources had their turn before. docs/benchmarks.md has the figures.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "src/data/sample_order.h"

namespace octet {
namespace {

constexpr std::int64_t sources = 100;

/// Weights 1/k in rising order, for the whole run, or with a change every 1,000 steps up to step 100,000.
SampleOrder order_of(std::int64_t version, bool changes, std::int64_t batch) {
  std::vector<SampleOrder::Source> described;
  DataStage stage;
  for (std::int64_t k = sources; k >= 1; --k) {
    described.push_back({"source", 1'000'000 + k});
    stage.weights.push_back(1.0 / static_cast<double>(k));
  }
  std::vector<DataStage> stages = {stage};
  while (changes && stages.size() < 100) {
    stages.push_back(stages.back());
    stages.back().step += 1000;
    stages.back().weights[stages.size() % sources] *= 2;
  }
  return {described, SourceTurns(version, stages, batch), 0.01, 1};
}

/// The global batch from sample 10^9 on.
void batch(benchmark::State& state) {
  const std::int64_t samples = state.range(1);
  const SampleOrder order = order_of(state.range(0), state.range(2) != 0, samples);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < samples; ++i) benchmark::DoNotOptimize(order.train_sample(1'000'000'000 + i));
  }
}
BENCHMARK(batch)
    ->ArgNames({"version", "samples", "changes"})
    ->Args({1, 1, 0})
    ->Args({2, 1, 0})
    ->Args({2, 1, 1})
    ->Args({1, 1024, 0})
    ->Args({2, 1024, 0})
    ->Args({2, 1024, 1})
    ->Unit(benchmark::kMicrosecond);

void taken(benchmark::State& state) {
  const SampleOrder order = order_of(state.range(0), false, 1024);
  for (auto _ : state) benchmark::DoNotOptimize(order.turns().taken(1'000'000'000));
}
BENCHMARK(taken)->ArgNames({"version"})->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace octet

BENCHMARK_MAIN();
