// What the tuner plugin adds to a collective's launch on the host: nanoseconds a call, through NCCL's interface.
//   build/cpu/bin/octet-benchmark-tuner configs/tuning/aws-p5-efa.json
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "tests/tuning/plugin/plugin_harness.h"

namespace octet::test {
namespace {

/// Calls for one collective of the sizes 1 B to 1 TB. Argument: nodes of 8 ranks; those without choices cost a look.
void get_coll_info(benchmark::State& state) {
  static const Library plugin(OCTET_TUNER_PLUGIN);
  static const StandInNccl nccl;
  StandInNccl::set_version(22809);
  const auto nodes = static_cast<std::size_t>(state.range(0));
  const Tuner tuner(plugin, 5, nodes * 8, nodes, nccl.logger(), nullptr);
  CostTable costs;
  costs.fill(5);
  int channels = 0, log2 = 0;
  for (auto unused [[maybe_unused]] : state) {
    tuner.raw()(const_cast<void*>(tuner.context()), 4, std::size_t{1} << log2, 1,
                reinterpret_cast<float**>(costs.data()), tuner_abi::algorithms, tuner_abi::protocols, 0, &channels);
    benchmark::DoNotOptimize(costs);
    log2 = (log2 + 7) % 41;
  }
  state.SetLabel(nccl.lines().substr(0, 200));
}
BENCHMARK(get_coll_info)->Arg(2)->Arg(16)->Arg(20);

}  // namespace
}  // namespace octet::test

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) return 64;
  setenv("OCTET_TUNING_FILE", argv[1], 1);
  benchmark::RunSpecifiedBenchmarks();
}
