#include "src/tuning/cost_model/model_constants.h"

#include <limits>

namespace octet {
namespace {

// Rows: tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat. Columns: ll, ll128, simple.
constexpr AlgorithmTable base_latency{
    {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {8, 8, 8}}};
constexpr AlgorithmTable nvlink_latency{
    {{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}};
constexpr AlgorithmTable pci_latency{
    {{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4}}};
constexpr AlgorithmTable net_latency{
    {{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

// Rows: Volta, Ampere, Hopper, Blackwell. Columns: one node, two, more.
constexpr GenerationTable ll_max{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr GenerationTable ring_ll128_max{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}};
constexpr GenerationTable tree_ll128_max{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr GenerationTable tree_max{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr GenerationTable nvls_tree_max{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.8}}};

constexpr auto blackwell = static_cast<std::size_t>(GpuGeneration::blackwell);

double& nvls_tree_net_latency(ModelConstants& constants) {
  return constants.hw_latency.at(static_cast<std::size_t>(LinkKind::net))
      .at(static_cast<std::size_t>(Algorithm::nvls_tree))
      .at(static_cast<std::size_t>(Protocol::simple));
}

// As 2.28.7 was.
void make_older(ModelConstants& constants) {
  nvls_tree_net_latency(constants) = 14;
  constants.nvls_tree_max[blackwell] = {0, 96, 43.1};
}

void make_2_27(ModelConstants& constants) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constants.tree_ll128_max[blackwell] = {73.4, 73.4, 58};
  constants.tree_max[blackwell] = {77.4, 82.8, 72};
  for (auto& row : constants.nvls_tree_max) row.fill(infinite);
}

}  // namespace

ModelConstants default_constants(const NcclVersion& version) {
  ModelConstants constants{
      base_latency, {nvlink_latency, pci_latency, net_latency}, ll_max, ring_ll128_max, tree_ll128_max, tree_max,
      nvls_tree_max};
  if (version < NcclVersion{2, 28, 9}) make_older(constants);
  if (version < NcclVersion{2, 28, 7}) constants.ring_ll128_max[blackwell] = {73.4, 73.4, 73.4};
  if (version < NcclVersion{2, 28, 0}) make_2_27(constants);
  if (version >= NcclVersion{2, 29, 0}) constants.ring_ll128_max[blackwell] = {34.5, 34.6, 34.5};
  if (version >= NcclVersion{2, 29, 7}) constants.ring_ll128_max[blackwell] = {40, 40, 40};
  if (version >= NcclVersion{2, 30, 0}) constants.nvls_tree_max[blackwell] = {0, 96, 80};
  return constants;
}

}  // namespace octet
