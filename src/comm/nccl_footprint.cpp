#include "src/comm/nccl_footprint.h"

#include <algorithm>
#include <bit>

#include "src/base/round_up.h"

namespace octet {
namespace {

constexpr std::int64_t kib = 1 << 10, mib = 1 << 20;

/// Memory comes by cuMemCreate, in such pieces (ncclCuMemAlloc in src/include/alloc.h, CUDA_IPC_MIN in comm.h).
constexpr std::int64_t in_pieces(std::int64_t bytes) {
  return round_up(bytes, 2 * mib);
}

/// A connection's buffers, one a protocol (DEFAULT_*_BUFFSIZE in src/init.cc): of 8 steps each.
constexpr std::int64_t steps = 8;
constexpr std::int64_t ll = 8 * 512 * steps * 16, ll128 = 120 * 640 * steps * 8, simple = 4 * mib;

/// What one peer on one channel costs, with sending and receiving: by NVLink (p2pSendSetup and p2pRecvSetup in
/// src/transport/p2p.cc, with 4 KiB of flags each), by network (sendProxyConnect and recvProxyConnect in net.cc: what
/// is sent by LL lies on the host).
constexpr std::int64_t nvlink_send = in_pieces(4 * kib),
                       nvlink = nvlink_send + in_pieces(4 * kib + ll + ll128 + simple);
constexpr std::int64_t network_send = in_pieces(ll128 + simple),
                       network = network_send + in_pieces(ll + ll128 + simple);

/// sizeof(ncclDevChannelPeer) in src/include/device.h.
constexpr std::int64_t device_peer = 608;

class Footprint {
 public:
  Footprint(int ranks, int nodes, const NcclGroupSettings& settings)
      : ranks_(ranks),
        nodes_(nodes),
        local_(ceil_div(ranks, nodes)),
        // 24 in a node of 8 H100, across nodes twice the 8 of its network cards, and for one GPU a node at most 4 a
        // card: what the search of src/graph finds there, doubled in ncclTopoPostset (src/graph/connect.cc).
        channels_(limited(nodes == 1   ? 24
                          : local_ > 1 ? 16
                                       : 8,
                          settings)),
        exchange_channels_(std::bit_ceil(static_cast<std::uint64_t>(channels_))),  // ncclTopoComputeP2pChannels
        nvls_channels_(limited(16, settings)) {}                                   // NVLS_NCHANNELS_SM90

  /// When it is made: initChannel and initNvlsChannel in src/channel.cc, devCommSetup in src/init.cc, credits in
  /// ncclNvlsSetup.
  std::int64_t made() const {
    const std::int64_t channel =
        in_pieces(ranks_ * device_peer) + in_pieces((ranks_ + 1 + local_) * 8) + in_pieces(ranks_ * 4);
    const std::int64_t nvls = local_ == 1 ? 0 : nvls_channels_ * in_pieces(local_ * device_peer) + in_pieces(1);
    return 2 * in_pieces(ranks_ * 4) + exchange_channels_ * channel + nvls;
  }
  /// One peer before and one behind, some by network (ncclTransportRingConnect in src/transport/generic.cc).
  std::int64_t rings() const {
    return channels_ * nvlink + (nodes_ == 1 ? 0 : leaving() * (network_send - nvlink_send));
  }
  /// Two neighbours in the node; a parent and two children on other nodes (ncclTransportTreeConnect).
  std::int64_t trees() const {
    return channels_ * std::min<std::int64_t>(2, local_ - 1) * nvlink + leaving() * distant() * network;
  }
  /// With one GPU a node, in either direction a peer each power of two (ncclTransportPatConnect).
  std::int64_t binomial_trees() const {
    return local_ > 1 ? 0 : channels_ * 2 * std::bit_width(static_cast<unsigned>(ranks_ - 1)) * network;
  }
  /// Chunks of 128 KiB from and to each GPU of the node, through the switch (ncclNvlsBufferSetup in
  /// src/transport/nvls.cc).
  std::int64_t nvls() const { return local_ == 1 ? 0 : in_pieces(nvls_channels_ * 2 * (128 * kib * steps) * local_); }
  /// ncclNvlsTreeConnect.
  std::int64_t nvls_trees() const { return local_ == 1 ? 0 : nvls_channels_ * distant() * network; }
  /// In a node every pair is connected on all channels, across nodes on two (addP2pToPlan and taskAppend in
  /// src/enqueue.cc); by network all peers share one buffer of 16 chunks a channel each way (sharedNetBuffersInit).
  std::int64_t exchanges() const {
    const std::int64_t near = (local_ - 1) * (nodes_ == 1 ? exchange_channels_ : 2) * nvlink;
    return near + (nodes_ == 1 ? 0 : 2 * in_pieces(exchange_channels_ * 16 * 128 * kib));
  }
  bool one_node() const { return nodes_ == 1; }

 private:
  static std::int64_t limited(std::int64_t channels, const NcclGroupSettings& settings) {
    if (settings.max_ctas > 0) channels = std::min(channels, settings.max_ctas);
    return std::max(channels, settings.min_ctas);
  }
  /// Channels whose way out of the node begins at this rank.
  std::int64_t leaving() const { return ceil_div(channels_, local_); }
  /// Ranks of other nodes that one is connected with in a tree.
  std::int64_t distant() const { return std::min<std::int64_t>(3, nodes_ - 1); }

  std::int64_t ranks_, nodes_, local_, channels_, exchange_channels_, nvls_channels_;
};

}  // namespace

NcclTraffic& NcclTraffic::operator|=(const NcclTraffic& other) {
  gathers |= other.gathers;
  reduces |= other.reduces;
  agrees |= other.agrees;
  exchanges |= other.exchanges;
  return *this;
}

std::int64_t nccl_bytes(int ranks, int nodes, const NcclGroupSettings& settings, const NcclTraffic& traffic) {
  const Footprint f(ranks, nodes, settings);
  std::int64_t bytes = f.made();
  if (ranks == 1) return bytes;
  const bool sums = traffic.reduces || traffic.agrees;
  if (traffic.gathers || sums) bytes += f.rings();
  if (sums) bytes += f.trees();
  if (traffic.gathers) bytes += f.binomial_trees();
  if (traffic.reduces || (traffic.gathers && f.one_node())) bytes += f.nvls();
  if (traffic.reduces) bytes += f.nvls_trees();
  if (traffic.exchanges) bytes += f.exchanges();
  return bytes;
}

}  // namespace octet
