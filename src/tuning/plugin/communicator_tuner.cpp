#include "src/tuning/plugin/communicator_tuner.h"

#include <algorithm>
#include <cstdint>

namespace octet {

CommunicatorTuner::CommunicatorTuner(const TuningFile& tuning, CommShape shape) {
  for (const TunedChoice& choice : tuning.choices) {
    if (choice.ranks_per_node != shape.ranks_per_node || !choice.covers_nodes(shape.nodes)) continue;
    choices_.at(static_cast<std::size_t>(choice.collective))
        .push_back({.from = static_cast<std::size_t>(choice.bytes_from),
                    .to = choice.bytes_to == 0 ? SIZE_MAX : static_cast<std::size_t>(choice.bytes_to),
                    .algorithm = static_cast<int>(choice.algorithm),
                    .protocol = static_cast<int>(choice.protocol)});
  }
  for (auto& of_collective : choices_) {
    std::sort(of_collective.begin(), of_collective.end(),
              [](const Choice& a, const Choice& b) { return a.from < b.from; });
  }
}

void CommunicatorTuner::pin(tuner_abi::Function function, std::size_t bytes, float* costs, int algorithms,
                            int protocols) const noexcept {
  if (function >= choices_.size() || costs == nullptr) return;
  const auto& choices = choices_[function];
  const auto next = std::upper_bound(choices.begin(), choices.end(), bytes,
                                     [](std::size_t value, const Choice& choice) { return value < choice.from; });
  if (next == choices.begin()) return;
  const Choice& choice = *std::prev(next);
  if (bytes >= choice.to || choice.algorithm >= algorithms || choice.protocol >= protocols) return;
  float& cost = costs[choice.algorithm * protocols + choice.protocol];
  if (cost >= 0) cost = 0;
}

std::size_t CommunicatorTuner::size() const noexcept {
  std::size_t all = 0;
  for (const auto& of_collective : choices_) all += of_collective.size();
  return all;
}

int apply_constants(const TunedConstants& fitted, tuner_abi::Constants& constants) {
  int applied = 0;
  const auto at = [](auto value) { return static_cast<std::size_t>(value); };
  for (const TunedBaseLatency& row : fitted.base_latency) {
    constants.base_latencies[at(row.algorithm)][at(row.protocol)] = row.us;
    ++applied;
  }
  for (const TunedHwLatency& row : fitted.hw_latency) {
    constants.hw_latencies[at(row.link)][at(row.algorithm)][at(row.protocol)] = row.us;
    ++applied;
  }
  double(*const limits[])[tuner_abi::scales] = {
      constants.ll_max_bws, constants.per_channel_max_ring_ll128_bws, constants.per_channel_max_tree_ll128_bws,
      constants.per_channel_max_tree_bws, constants.per_channel_max_nvls_tree_bws};
  for (const TunedBandwidth& row : fitted.bandwidth) {
    limits[at(row.limit)][at(row.generation)][row.nodes - 1] = row.gbs;
    ++applied;
  }
  return applied;
}

}  // namespace octet
