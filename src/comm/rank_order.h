#pragma once

#include <algorithm>
#include <cstdint>

#include "src/base/dtype.h"
#include "src/comm/communicator.h"

namespace octet {

/// How the CPU's sums of fp32, which are formed in rank order (sum_in_rank_order), are cut over the ranks of a group,
/// and the scratch (Purpose::communication) that they take of each. Counts are elements of fp32, scratch is bytes.
namespace rank_order {

/// Scratch for the pieces of one step of a reduction, over all peers. Two steps are in flight.
constexpr std::int64_t step_bytes = 2 << 20;
/// Below this many bytes over all ranks an all-reduce is one all-gather.
constexpr std::int64_t small_all_reduce = 64 << 10;

/// The most elements of a rank's piece in one step of a reduce-scatter.
constexpr std::int64_t most_of_a_step(int ranks) {
  return std::max<std::int64_t>(step_bytes / std::max(ranks - 1, 1) / 4, 256);
}

/// The scratch of a reduce-scatter of `count` elements a rank.
constexpr std::int64_t reduce_scatter_scratch(int ranks, std::int64_t count) {
  return 2 * (ranks - 1) * std::min(most_of_a_step(ranks), count) * 4;
}

/// Elements that each rank sums for the others in an all-reduce of `count`; what is left of them over all ranks each
/// rank sums for itself.
constexpr std::int64_t all_reduce_piece(int ranks, std::int64_t count) {
  return ranks * count * 4 <= small_all_reduce ? 0 : count / ranks;
}

constexpr std::int64_t all_reduce_scratch(int ranks, std::int64_t count) {
  if (ranks == 1) return 0;
  const std::int64_t piece = all_reduce_piece(ranks, count), rest = count - piece * ranks;
  return std::max(piece > 0 ? reduce_scatter_scratch(ranks, piece) : 0, ranks * rest * 4);
}

}  // namespace rank_order

/// Says whether the result has the same bits whatever the order, so that MPI may form it by tree or ring: a rank then
/// has about log2(ranks) partners, where an order of our own takes all others. Sums and maxima of i32, maxima of fp32.
inline bool is_exact(DType dtype, ReduceOp op) {
  return dtype == DType::i32 || (dtype == DType::f32 && op == ReduceOp::max);
}

}  // namespace octet
