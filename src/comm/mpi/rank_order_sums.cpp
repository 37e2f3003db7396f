#include "src/comm/mpi/rank_order_sums.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/comm/mpi/host_reductions.h"
#include "src/comm/rank_order.h"

namespace octet {

void RankOrderSums::add(const float* send, float* recv, std::int64_t count) {
  const std::int64_t most = rank_order::most_of_a_step(peers_.size);
  for (std::int64_t offset = 0; offset < count; offset += most) {
    steps_.push_back({send, recv, count, offset, std::min(most, count - offset)});
  }
}

/// The exchange of a step runs while the one before is folded.
void RankOrderSums::run(const OperationScope& operation) {
  if (steps_.empty()) return;
  const auto steps = std::exchange(steps_, {});
  std::int64_t most = 0;
  for (const Step& step : steps) most = std::max(most, step.bytes());
  const std::int64_t half = (peers_.size - 1) * most;
  char* const area = scratch(2 * half);

  std::array<MpiRequests, 2> requests;
  const auto begin = [&](std::size_t i) { start(steps[i], area + (i % 2) * half, requests[i % 2]); };
  begin(0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i + 1 < steps.size()) begin(i + 1);
    wait_all(requests[i % 2], operation);
    fold(steps[i], steps[i].piece(peers_.rank), reinterpret_cast<const float*>(area + (i % 2) * half));
  }
}

/// Sends every peer its part of our data, and receives into `to` what each peer has for our part, in rank order and
/// without our own.
void RankOrderSums::start(const Step& step, char* to, MpiRequests& requests) const {
  for (int peer = 0; peer < peers_.size; ++peer) {
    if (peer == peers_.rank) continue;
    peers_.post_recv(to, step.bytes(), peer, MpiTag::piece, &requests.emplace_back(MPI_REQUEST_NULL));
    to += step.bytes();
  }
  for (int distance = 1; distance < peers_.size; ++distance) {  // not all at the same peer first
    const int peer = (peers_.rank + distance) % peers_.size;
    peers_.post_send(step.piece(peer), step.bytes(), peer, MpiTag::piece, &requests.emplace_back(MPI_REQUEST_NULL));
  }
}

void RankOrderSums::fold(const Step& step, const float* own, const float* others) {
  inputs_.clear();
  for (int peer = 0; peer < peers_.size; ++peer) {
    inputs_.push_back(peer == peers_.rank ? own : others);
    if (peer != peers_.rank) others += step.length;
  }
  sum_in_rank_order(inputs_, step.result(), step.length);
}

void RankOrderSums::all_reduce(float* data, std::int64_t count, const OperationScope& operation) {
  auto later = std::exchange(steps_, {});
  const std::int64_t piece = rank_order::all_reduce_piece(peers_.size, count);
  if (piece > 0) {
    float* const own = data + peers_.rank * piece;
    add(data, own, piece);
    run(operation);
    peers_.all_gather(own, data, piece * size_of(DType::f32), operation);
  }
  const std::int64_t done = piece * peers_.size;
  all_reduce_small(data + done, count - done, operation);
  steps_ = std::move(later);
}

void RankOrderSums::all_reduce_small(float* data, std::int64_t count, const OperationScope& operation) {
  if (count == 0) return;
  auto* const all = reinterpret_cast<float*>(scratch(peers_.size * count * size_of(DType::f32)));
  peers_.all_gather(data, all, count * size_of(DType::f32), operation);
  inputs_.clear();
  for (int r = 0; r < peers_.size; ++r) inputs_.push_back(all + r * count);
  sum_in_rank_order(inputs_, data, count);
}

char* RankOrderSums::scratch(std::int64_t bytes) {
  if (scratch_.bytes() < bytes) {
    scratch_ = Buffer();  // give back the old one first
    scratch_ = Buffer(device_, bytes, Purpose::communication);
  }
  return scratch_.as<char>();
}

}  // namespace octet
