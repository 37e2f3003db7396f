#include "checkpoints/save/save_plan.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"
#include "src/base/error.h"
#include "src/comm/packing.h"

namespace octet::checkpoint {
namespace {

void put_shape(Packer& packer, const Shape& shape) {
  packer.put(static_cast<std::uint8_t>(shape.rank()));
  for (int d = 0; d < shape.rank(); ++d) packer.put(shape[d]);
}

Shape take_shape(Unpacker& unpacker) {
  std::vector<std::int64_t> extents(unpacker.take<std::uint8_t>());
  for (std::int64_t& e : extents) e = unpacker.take<std::int64_t>();
  return extents.empty() ? Shape{} : make_shape(extents);
}

/// Collects the tensors of all ranks and numbers them.
class TensorTable {
 public:
  std::int32_t index_of(const StoredTensor& tensor, int rank) {
    const auto [entry, is_new] = by_name_.try_emplace(tensor.name, static_cast<std::int32_t>(tensors_.size()));
    if (is_new) tensors_.push_back(tensor);
    const StoredTensor& known = tensors_[static_cast<std::size_t>(entry->second)];
    if (!(known == tensor)) {
      throw usage_error("checkpoints", "tensor {} is {} {} on rank {}, but {} {} on another", tensor.name,
                        name_of(tensor.dtype), tensor.shape.text(), rank, name_of(known.dtype), known.shape.text());
    }
    return entry->second;
  }
  std::vector<StoredTensor> take() { return std::move(tensors_); }

 private:
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, std::int32_t> by_name_;
};

/// Pieces that have elements, by rank, with their places in the rank's list.
struct Held {
  std::vector<std::vector<HeldPiece>> pieces;
  std::vector<std::vector<std::int32_t>> places;

  void add(const std::string& description, TensorTable& tensors) {
    const std::vector<DevicePiece> described = described_pieces(description);
    const auto rank = static_cast<int>(pieces.size());
    std::vector<HeldPiece>& held = pieces.emplace_back();
    std::vector<std::int32_t>& at = places.emplace_back();
    held.reserve(described.size());
    at.reserve(described.size());
    for (std::size_t i = 0; i < described.size(); ++i) {
      const auto& [tensor, box, none] = described[i];
      const std::int32_t index = tensors.index_of(tensor, rank);
      if (box.extent.elements() == 0) continue;
      held.push_back({index, box, box.extent.elements() * size_of(tensor.dtype)});
      at.push_back(static_cast<std::int32_t>(i));
    }
  }
};

/// Before anything is written: what is saved must be whole.
void check_whole(const SavePlan& plan) {
  Manifest manifest;
  manifest.tensors = plan.tensors;
  for (std::size_t r = 0; r < plan.copies.size(); ++r) {
    manifest.files.push_back({file_name(static_cast<int>(r)), 0, ""});
    for (const SavePlan::Piece& p : plan.copies[r]) {
      manifest.pieces.push_back({p.tensor, static_cast<std::int32_t>(r), p.box});
    }
  }
  check_coverage(manifest, "the pieces of all ranks");
}

}  // namespace

std::string describe_pieces(std::span<const DevicePiece> pieces) {
  Packer packer;
  packer.put(static_cast<std::int64_t>(pieces.size()));
  for (const DevicePiece& piece : pieces) {
    packer.put(piece.tensor.name, piece.tensor.dtype);
    put_shape(packer, piece.tensor.shape);
    for (const std::int64_t offset : piece.box.offset) packer.put(offset);
    put_shape(packer, piece.box.extent);
  }
  return packer.bytes();
}

std::vector<DevicePiece> described_pieces(const std::string& description) {
  Unpacker unpacker(description);
  std::vector<DevicePiece> pieces(static_cast<std::size_t>(unpacker.take<std::int64_t>()));
  for (DevicePiece& piece : pieces) {
    piece.tensor.name = unpacker.take_text();
    piece.tensor.dtype = unpacker.take<DType>();
    piece.tensor.shape = take_shape(unpacker);
    for (std::int64_t& offset : piece.box.offset) offset = unpacker.take<std::int64_t>();
    piece.box.extent = take_shape(unpacker);
  }
  return pieces;
}

std::vector<std::vector<SavePlan::Piece>> SavePlan::writes() const {
  std::vector<std::vector<Piece>> all(copies.size());
  for (std::size_t r = 0; r < copies.size(); ++r) {
    auto& file = all[static_cast<std::size_t>(writer[r])];
    file.insert(file.end(), copies[r].begin(), copies[r].end());
  }
  return all;
}

std::int64_t SavePlan::host_bytes(std::int64_t pieces, std::span<const StoredTensor> tensors) {
  auto bytes = pieces * static_cast<std::int64_t>(sizeof(Piece));
  for (const StoredTensor& t : tensors) bytes += static_cast<std::int64_t>(sizeof t + t.name.size());
  return bytes;
}

std::int64_t SavePlan::host_bytes() const {
  std::int64_t pieces = 0;
  for (const std::vector<Piece>& of_rank : copies) pieces += std::ssize(of_rank);
  return host_bytes(pieces, tensors);
}

PlannedSave plan_save(std::vector<std::string> descriptions, std::vector<int> writer) {
  TensorTable tensors;
  Held held;
  for (std::string& description : descriptions) held.add(std::exchange(description, {}), tensors);
  std::vector<std::vector<std::int32_t>> assigned = assign_writers(held.pieces);

  PlannedSave planned;
  SavePlan& plan = planned.plan;
  plan.tensors = tensors.take();
  plan.copies.resize(descriptions.size());
  plan.writer = std::move(writer);
  if (plan.writer.empty()) {
    plan.writer.resize(descriptions.size());
    std::iota(plan.writer.begin(), plan.writer.end(), 0);
  }
  for (std::size_t r = 0; r < assigned.size(); ++r) {
    plan.copies[r].reserve(assigned[r].size());
    for (std::int32_t& i : assigned[r]) {
      const HeldPiece& piece = held.pieces[r][static_cast<std::size_t>(i)];
      plan.copies[r].push_back({piece.tensor, piece.box});
      plan.bytes += piece.bytes;
      i = held.places[r][static_cast<std::size_t>(i)];
    }
    held.pieces[r] = {};
  }
  planned.places = std::move(assigned);
  check_whole(plan);
  return planned;
}

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
