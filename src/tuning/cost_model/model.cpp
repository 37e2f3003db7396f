#include "src/tuning/cost_model/model.h"

#include <algorithm>
#include <bit>

#include "src/base/error.h"
#include "src/tuning/cost_model/cost_lines.h"

namespace octet {
namespace {

// NCCL_MAX_DEV_WORK_BATCH_COLLS: 1,024 bytes of work over 96 of one collective (src/include/device.h at v2.28.9-1).
constexpr int batch = 10;

// Trees fall behind the straight line at medium sizes: by protocol, from 64 B up in powers of two
// (treeCorrectionFactor, src/graph/tuning.cc at v2.27.7-1 and v2.28.9-1; 2.29 adds one column, 1, 1 and .9, which only
// nvls_tree of Blackwell uses).
constexpr std::array<std::array<double, 24>, protocol_count> tree_correction{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

double correction(const NcclVersion& version, const NcclMachine& machine, Algorithm algorithm, Protocol protocol,
                  std::int64_t bytes) {
  const bool tree = algorithm == Algorithm::tree;
  const bool late = algorithm == Algorithm::nvls_tree && version >= NcclVersion{2, 29, 0} &&
                    machine.generation == GpuGeneration::blackwell && machine.cpu != CpuVendor::other;
  if ((!tree && !late) || bytes < 64) return 1;
  const int column = std::bit_width(static_cast<std::uint64_t>(bytes) >> 6U) - 1;
  if (column >= (tree ? 23 : 24)) return 1;
  return tree_correction.at(static_cast<std::size_t>(protocol)).at(static_cast<std::size_t>(column));
}

// Rings between nodes have a plateau once every rank has 64 bytes a channel.
double plateau(const NcclMachine& machine, CommShape shape, std::int64_t bytes) {
  const std::int64_t parts = std::int64_t{search_graphs(machine, shape).channels} * shape.ranks();
  if (shape.nodes == 1 || bytes / parts < 64) return 1;
  return machine.generation == GpuGeneration::volta ? 1.9 : 1.4;
}

void check_shape(const NcclMachine& machine, CommShape shape) {
  if (shape.nodes < 1 || shape.ranks_per_node < 1 || shape.ranks() < 2) {
    throw usage_error("tuning", "a collective of {} nodes x {} ranks: it needs two ranks", shape.nodes,
                      shape.ranks_per_node);
  }
  if (shape.ranks_per_node > machine.gpus) {
    throw usage_error("tuning", "{} ranks a node, but the machine has {} GPUs a node", shape.ranks_per_node,
                      machine.gpus);
  }
}

}  // namespace

AlgorithmCosts algorithm_costs(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                               Collective collective, CommShape shape) {
  check_shape(machine, shape);
  const cost_lines::Case wanted{version, machine, constants, collective, shape, search_graphs(machine, shape)};
  AlgorithmCosts costs;
  for (int a = 0; a < algorithm_count; ++a) {
    for (int p = 0; p < protocol_count; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      AlgorithmCost& cost = costs.at(static_cast<std::size_t>(a)).at(static_cast<std::size_t>(p));
      cost.excluded = cost_lines::why_excluded(wanted, algorithm, protocol);
      if (!cost.excluded.empty()) continue;
      cost.latency_us = cost_lines::latency_us(wanted, algorithm, protocol);
      cost.algorithm_gbs = cost_lines::algorithm_gbs(wanted, algorithm, protocol);
      if (cost.algorithm_gbs <= 0) cost.excluded = "its constants give it no bandwidth";
    }
  }
  return costs;
}

AlgorithmCosts costs_at(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                        Collective collective, CommShape shape, std::int64_t bytes) {
  if (bytes < 1) throw usage_error("tuning", "a collective of {} bytes: expected at least 1", bytes);
  AlgorithmCosts costs = algorithm_costs(version, machine, constants, collective, shape);
  if (collective != Collective::all_reduce) return costs;
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::nvls_tree}) {
    for (std::size_t p = 0; p < protocol_count; ++p) {
      costs.at(static_cast<std::size_t>(algorithm)).at(p).algorithm_gbs *=
          correction(version, machine, algorithm, static_cast<Protocol>(p), bytes);
    }
  }
  auto& rings = costs.at(static_cast<std::size_t>(Algorithm::ring));
  rings.at(static_cast<std::size_t>(Protocol::simple)).latency_us *= plateau(machine, shape, bytes);
  return costs;
}

AlgorithmTable predicted_us(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
                            Collective collective, CommShape shape, std::int64_t bytes, int pipe_ops) {
  const AlgorithmCosts costs = costs_at(version, machine, constants, collective, shape, bytes);
  AlgorithmTable table;
  for (std::size_t a = 0; a < algorithm_count; ++a) {
    const int times = a == static_cast<std::size_t>(Algorithm::ring) ? pipe_ops : (pipe_ops + batch - 1) / batch;
    for (std::size_t p = 0; p < protocol_count; ++p) {
      const AlgorithmCost& cost = costs.at(a).at(p);
      const double us = cost.latency_us * times + static_cast<double>(bytes) / (1000 * cost.algorithm_gbs);
      table.at(a).at(p) = cost.excluded.empty() ? us : -1;
    }
  }
  return table;
}

Choice choose(const AlgorithmTable& table) {
  Choice best{.us = -1};
  for (std::size_t a = 0; a < algorithm_count; ++a) {
    for (std::size_t p = 0; p < protocol_count; ++p) {
      const double us = table.at(a).at(p);
      if (us >= 0 && (best.us < 0 || us < best.us)) best = {static_cast<Algorithm>(a), static_cast<Protocol>(p), us};
    }
  }
  if (best.us < 0) throw usage_error("tuning", "no algorithm is left that could run this collective");
  return best;
}

double bus_gbs(Collective collective, CommShape shape, std::int64_t bytes, double us) {
  return static_cast<double>(bytes) / (1000 * us) * bus_factor(collective, shape.ranks());
}

}  // namespace octet
