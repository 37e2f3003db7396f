#include "checkpoints/save_plan.h"

#include <map>
#include <numeric>

#include "checkpoints/box.h"
#include "checkpoints/manifest.h"
#include "checkpoints/packing.h"
#include "checkpoints/resharding.h"
#include "src/base/error.h"

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
    packer.put(piece.tensor.name);
    packer.put(piece.tensor.dtype);
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

}  // namespace octet::checkpoint
