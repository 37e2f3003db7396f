#include "checkpoints/save/save_plan.h"

#include <numeric>
#include <unordered_map>
#include <utility>

#include "checkpoints/format/manifest.h"
#include "checkpoints/format/messages.h"
#include "checkpoints/save/assign_writers.h"
#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

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
    put(packer, piece.tensor);
    for (const std::int64_t offset : piece.box.offset) packer.put(offset);
    put(packer, piece.box.extent);
  }
  return packer.bytes();
}

std::vector<DevicePiece> described_pieces(const std::string& description) {
  Unpacker unpacker(description);
  std::vector<DevicePiece> pieces(static_cast<std::size_t>(unpacker.take<std::int64_t>()));
  for (DevicePiece& piece : pieces) {
    piece.tensor = take_tensor(unpacker);
    for (std::int64_t& offset : piece.box.offset) offset = unpacker.take<std::int64_t>();
    piece.box.extent = take_shape(unpacker);
  }
  unpacker.expect_end();
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

std::int64_t SavePlan::pieces() const {
  std::int64_t pieces = 0;
  for (const std::vector<Piece>& of_rank : copies) pieces += std::ssize(of_rank);
  return pieces;
}

std::int64_t SavePlan::host_bytes() const {
  return host_bytes(pieces(), tensors);
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

}  // namespace octet::checkpoint
