#include "src/train/plan/step_collectives.h"

#include <algorithm>
#include <span>

#include "src/train/plan/dry_run.h"

namespace octet {
namespace {

bool same_calls(std::span<const CommRecord> a, std::span<const CommRecord> b) {
  const auto same = [](const CommRecord& x, const CommRecord& y) {
    return x.operation == y.operation && x.group == y.group && x.dtype == y.dtype && x.count == y.count;
  };
  return std::ranges::equal(a, b, same);
}

}  // namespace

std::vector<StepCollective> step_collectives(const RunConfig& config, const MeshShape& mesh, int rank) {
  DryRun dry(config, mesh, rank, DeviceType::cpu);
  dry.second_step();
  std::vector<StepCollective> all;
  for (const std::span<const CommRecord> calls : dry.trace().starts()) {
    if (calls.front().ranks == 1 && !config.parallel.one_rank_exchange) continue;
    const auto known = std::ranges::find_if(all, [&](const auto& c) { return same_calls(c.calls, calls); });
    if (known != all.end()) {
      ++known->times;
    } else {
      all.push_back({.calls = {calls.begin(), calls.end()}});
    }
  }
  return all;
}

}  // namespace octet
