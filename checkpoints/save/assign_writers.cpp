#include "checkpoints/save/assign_writers.h"

#include <algorithm>
#include <compare>
#include <span>
#include <tuple>

#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

struct Holder {
  std::int32_t rank;
  std::int32_t index;  ///< of the piece, of those that the rank holds
};

/// Copies of one piece: ascending by rank, one a rank.
struct Candidate {
  std::span<const Holder> holders;
  std::int64_t bytes;
};

/// In few blocks of memory, which go back to the system: there can be millions of pieces.
class Holders {
 public:
  explicit Holders(const std::vector<std::vector<HeldPiece>>& held_by_rank) : held_(held_by_rank) {
    for (std::size_t rank = 0; rank < held_.size(); ++rank) {
      for (std::size_t i = 0; i < held_[rank].size(); ++i) {
        if (held_[rank][i].box.extent.elements() == 0) continue;
        all_.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i)});
      }
    }
    std::ranges::sort(all_, [&](const Holder& a, const Holder& b) {
      const std::strong_ordering order = compare(a, b);
      return std::is_neq(order) ? std::is_lt(order) : std::tie(a.rank, a.index) < std::tie(b.rank, b.index);
    });
    for (std::size_t i = 1; i < all_.size(); ++i) {
      if (std::is_eq(compare(all_[i - 1], all_[i]))) expect_same_bytes(all_[i - 1], all_[i]);
    }
    const auto same = [&](const Holder& a, const Holder& b) { return a.rank == b.rank && std::is_eq(compare(a, b)); };
    all_.erase(std::unique(all_.begin(), all_.end(), same), all_.end());
  }

  std::vector<Candidate> distinct_pieces() const {
    std::vector<Candidate> candidates;
    for (std::size_t begin = 0, end = 0; begin < all_.size(); begin = end) {
      while (end < all_.size() && std::is_eq(compare(all_[begin], all_[end]))) ++end;
      candidates.push_back({std::span(all_).subspan(begin, end - begin), piece(all_[begin]).bytes});
    }
    return candidates;
  }

 private:
  const HeldPiece& piece(const Holder& h) const {
    return held_[static_cast<std::size_t>(h.rank)][static_cast<std::size_t>(h.index)];
  }
  std::strong_ordering compare(const Holder& a, const Holder& b) const {
    const HeldPiece &left = piece(a), &right = piece(b);
    if (const auto order = left.tensor <=> right.tensor; std::is_neq(order)) return order;
    if (const auto order = left.box.offset <=> right.box.offset; std::is_neq(order)) return order;
    return left.box.extent <=> right.box.extent;
  }
  void expect_same_bytes(const Holder& a, const Holder& b) const {
    if (piece(a).bytes == piece(b).bytes) return;
    throw internal_error("checkpoints", "{} of tensor {} has {} bytes on rank {} and {} on another", text(piece(b).box),
                         piece(b).tensor, piece(b).bytes, b.rank, piece(a).bytes);
  }

  const std::vector<std::vector<HeldPiece>>& held_;
  std::vector<Holder> all_;  ///< by piece, and then by rank
};

}  // namespace

// Greedy: first what few ranks hold, then the largest first; each to the rank with the least so far.
std::vector<std::vector<std::int32_t>> assign_writers(const std::vector<std::vector<HeldPiece>>& held_by_rank) {
  const Holders holders(held_by_rank);
  std::vector<Candidate> candidates = holders.distinct_pieces();
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.holders.size(), -a.bytes) < std::tuple(b.holders.size(), -b.bytes);
  });
  std::vector<std::int64_t> load(held_by_rank.size(), 0);
  const auto load_of = [&](const Holder& h) -> std::int64_t& { return load[static_cast<std::size_t>(h.rank)]; };
  std::vector<std::vector<std::int32_t>> writes(held_by_rank.size());
  for (const Candidate& candidate : candidates) {
    const Holder least = *std::ranges::min_element(candidate.holders, {}, load_of);
    load_of(least) += candidate.bytes;
    writes[static_cast<std::size_t>(least.rank)].push_back(least.index);
  }
  for (auto& indices : writes) std::sort(indices.begin(), indices.end());
  return writes;
}

}  // namespace octet::checkpoint
