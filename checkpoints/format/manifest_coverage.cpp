#include <algorithm>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

const StoredTensor& tensor_of(const Manifest& manifest, const StoredPiece& piece) {
  return manifest.tensors[static_cast<std::size_t>(piece.tensor)];
}

void check_indices(const Manifest& manifest, const std::string& path) {
  for (const StoredPiece& piece : manifest.pieces) {
    const auto tensor = static_cast<std::size_t>(piece.tensor), file = static_cast<std::size_t>(piece.file);
    if (tensor >= manifest.tensors.size() || file >= manifest.files.size()) {
      throw usage_error("checkpoints", "{}: a piece of tensor {} in file {}; there are {} tensors and {} files", path,
                        piece.tensor, piece.file, manifest.tensors.size(), manifest.files.size());
    }
    if (!lies_in(piece.box, manifest.tensors[tensor].shape)) {
      throw usage_error("checkpoints", "{}: the piece {} of tensor {} does not lie in its shape {}", path,
                        text(piece.box), manifest.tensors[tensor].name, manifest.tensors[tensor].shape.text());
    }
  }
}

}  // namespace

// Pieces that lie in the tensor, that do not overlap, and that have as many elements as the tensor, are a partition of
// it. Sorted by first row, a piece is compared with those alone that begin before it ends.
void check_coverage(const Manifest& manifest, const std::string& path) {
  check_indices(manifest, path);
  std::vector<const StoredPiece*> order;
  for (const StoredPiece& piece : manifest.pieces) order.push_back(&piece);
  std::sort(order.begin(), order.end(), [](const StoredPiece* a, const StoredPiece* b) {
    return a->tensor != b->tensor ? a->tensor < b->tensor : a->box.offset < b->box.offset;
  });
  std::vector<std::int64_t> elements(manifest.tensors.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const StoredPiece& piece = *order[i];
    const std::int64_t end = piece.box.offset[0] + piece.box.extent[0];
    for (std::size_t j = i + 1; j < order.size() && order[j]->tensor == piece.tensor; ++j) {
      if (order[j]->box.offset[0] >= end) break;
      if (const auto common = intersection(piece.box, order[j]->box)) {
        throw usage_error("checkpoints", "{}: {} of tensor {} is in two pieces, {} and {}", path, text(*common),
                          tensor_of(manifest, piece).name, text(piece.box), text(order[j]->box));
      }
    }
    elements[static_cast<std::size_t>(piece.tensor)] += piece.box.extent.elements();
  }
  for (std::size_t t = 0; t < elements.size(); ++t) {
    const StoredTensor& tensor = manifest.tensors[t];
    if (elements[t] == tensor.shape.elements()) continue;
    throw usage_error("checkpoints", "{}: the pieces of tensor {} have {} elements, its shape {} has {}", path,
                      tensor.name, elements[t], tensor.shape.text(), tensor.shape.elements());
  }
}

}  // namespace octet::checkpoint
