// The results of NCCL's graph search in closed form.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "src/tuning/cost_model/nccl_machine.h"

namespace octet {
namespace {

// GB/s a channel that the search tries, fastest first (src/graph/search.cc at v2.28.9-1).
constexpr std::array intra_80{40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array inter_80{48., 30., 28., 24., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3., 2.4, 1.2, .24, .12};
constexpr std::array intra_90{60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
constexpr std::array inter_90{48., 45., 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, .24, .12};
constexpr std::array intra_100{90., 80., 70., 60., 50., 40., 30., 24., 20., 19., 18.};
constexpr std::array inter_100{96.,  48., 45.1, 42., 40., 30., 24., 22., 20.,
                               17.5, 15., 12.,  6.,  3.,  2.4, 1.2, .24, .12};

constexpr int most_channels = 32;  // of a search: half of NCCL's MAXCHANNELS, as rings are doubled afterwards

std::span<const double> speeds_of(GpuGeneration generation, bool several_nodes) {
  if (generation == GpuGeneration::blackwell) return several_nodes ? std::span<const double>(inter_100) : intra_100;
  if (generation == GpuGeneration::hopper) return several_nodes ? std::span<const double>(inter_90) : intra_90;
  return several_nodes ? std::span<const double>(inter_80) : intra_80;
}

int whole(double ratio) {
  return static_cast<int>(std::floor(ratio + 1e-6));
}

struct Search {
  const NcclMachine& machine;
  int gpus;  // of the communicator on a node
  int nics;  // near those
  bool several_nodes;
  std::span<const double> speeds;

  Search(const NcclMachine& node, CommShape shape)
      : machine(node),
        gpus(shape.ranks_per_node),
        nics(std::max(1, node.nics * shape.ranks_per_node / node.gpus)),
        several_nodes(shape.nodes > 1),
        speeds(speeds_of(node.generation, several_nodes)) {}

  // Channels of this speed that NVLinks and NICs carry. A ring between nodes leaves through a NIC on one of its hops.
  int ring_channels(double speed) const {
    const double hops = several_nodes ? (gpus - 1.) / gpus : 1;
    const int inside = gpus > 1 ? whole(machine.nvlink_gbs / (speed * hops)) : most_channels;
    const int outside = several_nodes ? nics * whole(machine.nic_gbs / speed) : most_channels;
    return std::min({inside, outside, most_channels});
  }

  SearchedGraph ring() const;
  SearchedGraph tree(const SearchedGraph& ring) const;
  SearchedGraph nvls() const;
  double faster_inside(const SearchedGraph& graph) const;
};

// The fastest sum of channels wins; a slower speed is tried while it is more than .49 of the best so far.
SearchedGraph Search::ring() const {
  SearchedGraph best;
  for (const double speed : speeds) {
    if (best.channels > 0 && speed / best.inter_gbs <= .49) break;
    const int channels = ring_channels(speed);
    if (channels * speed > best.channels * best.intra_gbs) best = {channels, speed, speed};
    if (best.channels * best.inter_gbs >= machine.nvlink_gbs) break;
  }
  if (best.channels == 0) return {1, .1, .1};  // what NCCL falls back to
  // Few or fast channels are split in two (ncclTopoDupChannels).
  const bool enough = machine.generation >= GpuGeneration::hopper && best.intra_gbs < 50 && best.channels > 4;
  if (best.intra_gbs >= 25 && !enough && best.channels * 2 <= most_channels) {
    best = {best.channels * 2, best.intra_gbs / 2, best.inter_gbs / 2};
  }
  return best;
}

// Trees get as many channels as rings. Inside a node they may be faster than outside, up to twice.
double Search::faster_inside(const SearchedGraph& graph) const {
  double intra = graph.intra_gbs;
  const double hops = (gpus - 1.) / gpus;
  for (auto speed = speeds.rbegin(); speed != speeds.rend(); ++speed) {
    const bool fits = graph.channels * *speed * hops <= machine.nvlink_gbs;
    if (*speed > intra && fits && intra < 2 * graph.inter_gbs) intra = *speed;
  }
  return intra;
}

SearchedGraph Search::tree(const SearchedGraph& ring) const {
  SearchedGraph tree = ring;
  if (gpus > 1) tree.intra_gbs = faster_inside(ring);
  if (!several_nodes) tree.inter_gbs = tree.intra_gbs;
  return tree;
}

// A channel for each GPU (or NIC) at its head, whose link carries it twice. Between nodes more channels win over speed;
// then the speed outside may rise alone, up to more than twice the speed inside.
SearchedGraph Search::nvls() const {
  if (!machine.nvls || machine.generation < GpuGeneration::hopper || gpus < 2) return {};
  const int heads = several_nodes ? std::min(gpus, nics) : gpus;
  SearchedGraph best;
  for (const double speed : speeds) {
    if (several_nodes && speed > machine.nic_gbs) continue;
    const int channels = std::min(heads, whole(machine.nvlink_gbs / speed) - 1);
    if (channels < 1 || (!several_nodes && channels < heads)) continue;
    if (channels > best.channels || channels * speed > best.channels * best.inter_gbs) best = {channels, speed, speed};
    if (best.channels == heads) break;
  }
  for (auto speed = speeds.rbegin(); speed != speeds.rend(); ++speed) {
    const bool fits = !several_nodes || *speed <= machine.nic_gbs;
    if (*speed > best.inter_gbs && fits && best.inter_gbs < 2 * best.intra_gbs) best.inter_gbs = *speed;
  }
  return best;
}

}  // namespace

SearchedGraphs search_graphs(const NcclMachine& machine, CommShape shape) {
  const Search search(machine, shape);
  SearchedGraphs found;
  found.ring = search.ring();
  found.tree = search.tree(found.ring);
  found.nvls = search.nvls();
  found.collnet = found.tree;
  found.channels = 2 * found.ring.channels;
  found.same_channels = shape.nodes == 1 || search.nics == 1;
  // ncclTopoPostset doubles fast rings between nodes once more.
  if (shape.nodes > 1 && machine.generation >= GpuGeneration::hopper && found.ring.intra_gbs > 45 &&
      found.channels < 16) {
    found.channels *= 2;
  }
  return found;
}

}  // namespace octet
