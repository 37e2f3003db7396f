#include <algorithm>
#include <map>
#include <tuple>

#include "checkpoints/box.h"
#include "checkpoints/resharding.h"

namespace octet::checkpoint {
namespace {

struct Holder {
  std::size_t rank;
  std::int32_t index;
};

struct Candidate {
  const HeldPiece* piece;
  std::vector<Holder> holders;  ///< ascending by rank, one a rank
};

struct Before {
  static auto key(const HeldPiece& p) {
    std::array<std::int64_t, Shape::max_rank> extent{};
    for (int i = 0; i < p.box.extent.rank(); ++i) extent[static_cast<std::size_t>(i)] = p.box.extent[i];
    return std::tuple(p.tensor, p.box.offset, extent);
  }
  bool operator()(const HeldPiece* a, const HeldPiece* b) const { return key(*a) < key(*b); }
};

std::vector<Candidate> distinct_pieces(const std::vector<std::vector<HeldPiece>>& held_by_rank) {
  std::map<const HeldPiece*, Candidate, Before> found;
  for (std::size_t rank = 0; rank < held_by_rank.size(); ++rank) {
    for (std::size_t i = 0; i < held_by_rank[rank].size(); ++i) {
      const HeldPiece& piece = held_by_rank[rank][i];
      if (piece.box.extent.elements() == 0) continue;
      Candidate& candidate = found.try_emplace(&piece, Candidate{&piece, {}}).first->second;
      if (candidate.piece->bytes != piece.bytes) {
        throw internal_error("checkpoints", "{} of tensor {} has {} bytes on rank {} and {} on another",
                             text(piece.box), piece.tensor, piece.bytes, rank, candidate.piece->bytes);
      }
      if (!candidate.holders.empty() && candidate.holders.back().rank == rank) continue;
      candidate.holders.push_back({rank, static_cast<std::int32_t>(i)});
    }
  }
  std::vector<Candidate> candidates;
  candidates.reserve(found.size());
  for (auto& [ignored, candidate] : found) candidates.push_back(std::move(candidate));
  return candidates;
}

}  // namespace

// Greedy: first what few ranks hold, then the largest first; each to the rank with the least so far.
std::vector<std::vector<std::int32_t>> assign_writers(const std::vector<std::vector<HeldPiece>>& held_by_rank) {
  std::vector<Candidate> candidates = distinct_pieces(held_by_rank);
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.holders.size(), -a.piece->bytes) < std::tuple(b.holders.size(), -b.piece->bytes);
  });
  std::vector<std::int64_t> load(held_by_rank.size(), 0);
  std::vector<std::vector<std::int32_t>> writes(held_by_rank.size());
  for (const Candidate& candidate : candidates) {
    const auto least = std::min_element(candidate.holders.begin(), candidate.holders.end(),
                                        [&](const Holder& a, const Holder& b) { return load[a.rank] < load[b.rank]; });
    load[least->rank] += candidate.piece->bytes;
    writes[least->rank].push_back(least->index);
  }
  for (auto& indices : writes) std::sort(indices.begin(), indices.end());
  return writes;
}

}  // namespace octet::checkpoint
