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

/// A connection's buffers, one a protocol (computeBuffSizes in src/init.cc): of 8 steps each. The third, of Simple, has
/// the size that NCCL_BUFFSIZE says.
constexpr std::int64_t steps = 8;
constexpr std::int64_t ll = 8 * 512 * steps * 16, ll128 = 120 * 640 * steps * 8;

/// What one peer on one channel costs.
struct Connection {
  std::int64_t send, both;  ///< bytes for sending alone, and for sending and receiving
};
/// By NVLink: p2pSendSetup and p2pRecvSetup in src/transport/p2p.cc, with 4 KiB of flags each.
constexpr Connection by_nvlink(std::int64_t simple) {
  const std::int64_t send = in_pieces(4 * kib);
  return {send, send + in_pieces(4 * kib + ll + ll128 + simple)};
}
/// By network: sendProxyConnect and recvProxyConnect in net.cc; what is sent by LL lies on the host.
constexpr Connection by_network(std::int64_t simple) {
  const std::int64_t send = in_pieces(ll128 + simple);
  return {send, send + in_pieces(ll + ll128 + simple)};
}

/// sizeof(ncclDevChannelPeer) in src/include/device.h.
constexpr std::int64_t device_peer = 608;

class Footprint {
 public:
  Footprint(int ranks, int nodes, const NcclGroupSettings& settings, const NcclVariables& variables)
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
        nvls_channels_(limited(16, settings)),                                     // NVLS_NCHANNELS_SM90
        nvls_chunk_(variables.nvls_chunk),
        // computeBuffSizes; within a node 512 KiB.
        message_chunk_(std::min(nodes == 1 ? 512 * kib : variables.message_chunk, variables.buffer / steps)),
        nvlink_(by_nvlink(variables.buffer)),
        network_(by_network(variables.buffer)) {}

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
    return channels_ * nvlink_.both + (nodes_ == 1 ? 0 : leaving() * (network_.send - nvlink_.send));
  }
  /// Two neighbours in the node; a parent and two children on other nodes (ncclTransportTreeConnect).
  std::int64_t trees() const {
    return channels_ * std::min<std::int64_t>(2, local_ - 1) * nvlink_.both + leaving() * distant() * network_.both;
  }
  /// With one GPU a node: in each direction, one peer at each distance that is a power of two
  /// (ncclTransportPatConnect).
  std::int64_t binomial_trees() const {
    return local_ > 1 ? 0 : channels_ * 2 * std::bit_width(static_cast<unsigned>(ranks_ - 1)) * network_.both;
  }
  /// Rings and trees share a channel's connection with a peer (ncclTransportP2pConnect in src/transport.cc). With one
  /// GPU a node they ask for more peers than a small group has.
  std::int64_t shared(std::int64_t rings_and_trees) const {
    return local_ > 1 ? rings_and_trees : std::min(rings_and_trees, channels_ * (ranks_ - 1) * network_.both);
  }
  /// Chunks from and to each GPU of the node, through the switch (ncclNvlsBufferSetup in src/transport/nvls.cc).
  std::int64_t nvls() const { return local_ == 1 ? 0 : in_pieces(nvls_channels_ * 2 * (nvls_chunk_ * steps) * local_); }
  /// ncclNvlsTreeConnect.
  std::int64_t nvls_trees() const { return local_ == 1 ? 0 : nvls_channels_ * distant() * network_.both; }
  /// In a node every pair is connected on all channels, across nodes on two (addP2pToPlan and taskAppend in
  /// src/enqueue.cc).
  std::int64_t pairs() const { return (local_ - 1) * (nodes_ == 1 ? exchange_channels_ : 2) * nvlink_.both; }
  /// By network the messages of all peers share one buffer of 16 chunks a channel each way (sharedNetBuffersInit).
  std::int64_t messages_one_way() const { return in_pieces(exchange_channels_ * 16 * message_chunk_); }
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

  std::int64_t ranks_, nodes_, local_, channels_, exchange_channels_, nvls_channels_, nvls_chunk_, message_chunk_;
  Connection nvlink_, network_;
};

}  // namespace

NcclTraffic& NcclTraffic::operator|=(const NcclTraffic& other) {
  gathers |= other.gathers;
  reduces |= other.reduces;
  agrees |= other.agrees;
  exchanges |= other.exchanges;
  return *this;
}

std::int64_t nccl_bytes(int ranks, int nodes, const NcclGroupSettings& settings, const NcclTraffic& traffic,
                        const NcclVariables& variables) {
  const Footprint f(ranks, nodes, settings, variables);
  // initTransportsRank in src/init.cc: all algorithms of collectives, and the buffer of what is sent by network, which
  // a communicator of one node or of one rank has too. Pairs are connected when they are used even so.
  const bool at_once = !variables.connects_when_used;
  std::int64_t bytes = f.made() + (at_once ? f.messages_one_way() : 0);
  if (ranks == 1) return bytes;
  const bool gathers = at_once || traffic.gathers, reduces = at_once || traffic.reduces;
  const bool sums = reduces || traffic.agrees;
  bytes += f.shared((gathers || sums ? f.rings() : 0) + (sums ? f.trees() : 0) + (gathers ? f.binomial_trees() : 0));
  if (reduces || (gathers && f.one_node())) bytes += f.nvls();
  if (reduces) bytes += f.nvls_trees();
  if (traffic.exchanges) bytes += f.pairs();
  if (traffic.exchanges && !f.one_node()) bytes += f.messages_one_way() * (at_once ? 1 : 2);
  return bytes;
}

}  // namespace octet
