#include "checkpoints/save/save_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/host_exchange.h"
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
  std::map<std::string, std::int32_t> by_name_;
};

/// Pieces of a rank that have elements, with their places in the rank's list.
struct Held {
  std::vector<HeldPiece> pieces;
  std::vector<std::int32_t> places;
};

Held read_description(const std::string& description, int rank, TensorTable& tensors) {
  Unpacker unpacker(description);
  const auto count = unpacker.take<std::int64_t>();
  Held held;
  for (std::int32_t i = 0; i < count; ++i) {
    StoredTensor tensor;
    tensor.name = unpacker.take_text();
    tensor.dtype = unpacker.take<DType>();
    tensor.shape = take_shape(unpacker);
    Box box;
    for (std::int64_t& offset : box.offset) offset = unpacker.take<std::int64_t>();
    box.extent = take_shape(unpacker);
    const std::int32_t index = tensors.index_of(tensor, rank);
    if (box.extent.elements() == 0) continue;
    held.pieces.push_back({index, box, box.extent.elements() * size_of(tensor.dtype)});
    held.places.push_back(i);
  }
  return held;
}

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

std::vector<std::vector<SavePlan::Piece>> SavePlan::writes() const {
  std::vector<std::vector<Piece>> all(copies.size());
  for (std::size_t r = 0; r < copies.size(); ++r) {
    auto& file = all[static_cast<std::size_t>(writer[r])];
    file.insert(file.end(), copies[r].begin(), copies[r].end());
  }
  return all;
}

SavePlan plan_save(const std::vector<std::string>& descriptions, int rank, std::vector<int> writer) {
  TensorTable tensors;
  std::vector<Held> held;
  std::vector<std::vector<HeldPiece>> held_pieces;
  for (std::size_t r = 0; r < descriptions.size(); ++r) {
    held.push_back(read_description(descriptions[r], static_cast<int>(r), tensors));
    held_pieces.push_back(held.back().pieces);
  }
  const std::vector<std::vector<std::int32_t>> assigned = assign_writers(held_pieces);

  SavePlan plan;
  plan.tensors = tensors.take();
  plan.copies.resize(descriptions.size());
  plan.writer = std::move(writer);
  if (plan.writer.empty()) {
    plan.writer.resize(descriptions.size());
    std::iota(plan.writer.begin(), plan.writer.end(), 0);
  }
  for (std::size_t r = 0; r < assigned.size(); ++r) {
    for (const std::int32_t i : assigned[r]) {
      const HeldPiece& piece = held[r].pieces[static_cast<std::size_t>(i)];
      plan.copies[r].push_back({piece.tensor, piece.box});
      plan.bytes += piece.bytes;
      if (static_cast<int>(r) == rank) plan.mine.push_back(held[r].places[static_cast<std::size_t>(i)]);
    }
  }
  check_whole(plan);
  return plan;
}

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
  static auto key(const HeldPiece& p) { return std::tuple(p.tensor, p.box.offset, p.box.extent); }
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

namespace {

/// A rank's number, from the first of its group, and that of every rank of the world.
std::string packed(int rank) {
  Packer packer;
  packer.put(static_cast<std::int32_t>(rank));
  return packer.bytes();
}
int unpacked(const std::string& bytes) {
  return Unpacker(bytes).take<std::int32_t>();
}

}  // namespace

int group_of(int local_rank, int local_size, int writers) {
  return static_cast<int>(std::int64_t{local_rank} * std::min(writers, local_size) / local_size);
}

WriterGroup make_writer_group(int writers_per_node, Communicator& world) {
  WriterGroup group;
  if (writers_per_node == 0) return group;
  const auto node = world.split_by_node("node");
  if (writers_per_node > node->size()) {
    log::shared_warning("checkpoint.writers_per_node = {}, but this node has {} rank(s): each writes its own file",
                        writers_per_node, node->size());
  }
  group.ranks = node->split(group_of(node->rank(), node->size(), writers_per_node), node->rank(), "checkpoint writers");
  const int first = unpacked(broadcast_bytes(packed(world.rank()), 0, *group.ranks));
  for (const std::string& writer : gather_bytes(packed(first), world)) group.writer.push_back(unpacked(writer));
  if (group.ranks->size() == 1) group.ranks.reset();
  return group;
}

}  // namespace octet::checkpoint
