#include "src/tuning/cost_model/tuned_constants.h"

#include <array>
#include <cstddef>

namespace octet {
namespace {

std::size_t index(auto value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

GenerationTable& limit_table(ModelConstants& constants, TunedLimit limit) {
  const std::array<GenerationTable*, 5> tables{&constants.ll_max, &constants.ring_ll128_max, &constants.tree_ll128_max,
                                               &constants.tree_max, &constants.nvls_tree_max};  // by TunedLimit
  return *tables.at(index(limit));
}

ModelConstants with_tuned(ModelConstants constants, const TunedConstants& tuned) {
  for (const TunedBaseLatency& row : tuned.base_latency) {
    constants.base_latency.at(index(row.algorithm)).at(index(row.protocol)) = row.us;
  }
  for (const TunedHwLatency& row : tuned.hw_latency) {
    constants.hw_latency.at(index(row.link)).at(index(row.algorithm)).at(index(row.protocol)) = row.us;
  }
  for (const TunedBandwidth& row : tuned.bandwidth) {
    limit_table(constants, row.limit).at(index(row.generation)).at(index(row.nodes - 1)) = row.gbs;
  }
  return constants;
}

}  // namespace octet
