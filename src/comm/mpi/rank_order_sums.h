#pragma once

#include <cstdint>
#include <vector>

#include "src/comm/mpi/mpi_requests.h"
#include "src/device/buffer.h"

namespace octet {

/// Sums of fp32 over a group of ranks, folded in rank order (host_reductions.h). Pieces are exchanged by sends and
/// receives in steps that fit a scratch on `device`.
class RankOrderSums {
 public:
  RankOrderSums(Device& device, const MpiPeers& peers) : device_(device), peers_(peers) {}

  /// Notes a reduce-scatter of `count` elements a rank: `send` [ranks · count], `recv` [count], which may be this
  /// rank's own piece of `send`.
  void add(const float* send, float* recv, std::int64_t count);
  /// Does what is noted, in order.
  void run(const OperationScope& operation);
  /// data [count] becomes the sum, at once: what is noted and not yet done shares no memory with it.
  void all_reduce(float* data, std::int64_t count, const OperationScope& operation);

 private:
  /// A part of a reduce-scatter: `length` elements from `offset` on in the piece of each rank.
  struct Step {
    const float* send;  ///< [ranks · stride]
    float* recv;        ///< [stride]
    std::int64_t stride;
    std::int64_t offset;
    std::int64_t length;

    std::int64_t bytes() const { return length * size_of(DType::f32); }
    const float* piece(int of_rank) const { return send + of_rank * stride + offset; }
    float* result() const { return recv + offset; }
  };

  void start(const Step& step, char* to, MpiRequests& requests) const;
  void fold(const Step& step, const float* own, const float* others);
  void all_reduce_small(float* data, std::int64_t count, const OperationScope& operation);
  char* scratch(std::int64_t bytes);

  Device& device_;
  MpiPeers peers_;
  std::vector<Step> steps_;  ///< not begun
  std::vector<const float*> inputs_;
  Buffer scratch_;
};

}  // namespace octet
