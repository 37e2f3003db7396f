#include "checkpoints/file_parts.h"

#include <algorithm>
#include <map>

#include "checkpoints/resharding.h"
#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

/// So that every part of a batch can be read as any element type.
constexpr std::int64_t alignment = 16;

/// What a manifest says of a few tensors: planning a batch does not look at the pieces of all others.
class SmallManifest {
 public:
  explicit SmallManifest(const Manifest& whole) : whole_(whole) { small_.files = whole.files; }

  void add(std::int32_t tensor, const std::vector<std::int32_t>& pieces) {
    const auto [place, is_new] = index_.try_emplace(tensor, static_cast<std::int32_t>(small_.tensors.size()));
    if (!is_new) return;
    small_.tensors.push_back(whole_.tensors[static_cast<std::size_t>(tensor)]);
    for (const std::int32_t i : pieces) {
      small_.pieces.push_back(whole_.pieces[static_cast<std::size_t>(i)]);
      small_.pieces.back().tensor = place->second;
    }
  }
  const Manifest& get() const { return small_; }

 private:
  const Manifest& whole_;
  Manifest small_;
  std::map<std::int32_t, std::int32_t> index_;
};

}  // namespace

std::int64_t bytes_of(const StoredTensor& tensor, const Box& box) {
  return box.extent.elements() * size_of(tensor.dtype);
}

std::int64_t bytes_of(const std::vector<StoredTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const StoredTensor& t : tensors) bytes += t.shape.elements() * size_of(t.dtype);
  return bytes;
}

std::vector<Part> row_parts(const StoredTensor& tensor, std::int32_t index, std::int64_t begin, std::int64_t rows,
                            std::int64_t most) {
  std::vector<Part> parts;
  if (tensor.shape.elements() == 0) return parts;
  const std::int64_t row_bytes = tensor.shape.row_elements() * size_of(tensor.dtype);
  const std::int64_t at_once = std::max<std::int64_t>(1, most / row_bytes);
  for (std::int64_t row = begin; row < begin + rows; row += at_once) {
    Part part{index, {{}, tensor.shape.with_rows(std::min(at_once, begin + rows - row))}};
    part.box.offset[0] = row;
    parts.push_back(part);
  }
  return parts;
}

std::vector<Part> row_parts(const StoredTensor& tensor, std::int32_t index, std::int64_t most) {
  return row_parts(tensor, index, 0, tensor.shape[0], most);
}

PartReader::PartReader(std::string directory, const Manifest& manifest, std::vector<Part> parts, std::int64_t most)
    : directory_(std::move(directory)),
      manifest_(manifest),
      pieces_of_(manifest.tensors.size()),
      parts_(std::move(parts)),
      most_(most) {
  for (std::size_t i = 0; i < manifest.pieces.size(); ++i) {
    pieces_of_[static_cast<std::size_t>(manifest.pieces[i].tensor)].push_back(static_cast<std::int32_t>(i));
  }
}

const void* PartReader::next() {
  if (next_ == parts_.size()) throw internal_error("checkpoints", "more than {} parts are asked for", parts_.size());
  if (next_ == batch_begin_ + offsets_.size()) read_batch();
  return data_.data() + offsets_[next_++ - batch_begin_];
}

void PartReader::read_batch() {
  batch_begin_ = next_;
  offsets_.clear();
  SmallManifest small(manifest_);
  std::int64_t end = 0;
  for (std::size_t i = batch_begin_; i < parts_.size(); ++i) {
    const auto tensor = static_cast<std::size_t>(parts_[i].tensor);
    const std::int64_t bytes = bytes_of(manifest_.tensors[tensor], parts_[i].box);
    if (!offsets_.empty() && end + bytes > most_) break;
    offsets_.push_back(end);
    end += (bytes + alignment - 1) / alignment * alignment;
    small.add(parts_[i].tensor, pieces_of_[tensor]);
  }
  if (static_cast<std::int64_t>(data_.size()) < end) data_.resize(static_cast<std::size_t>(end));

  std::vector<WantedPiece> wanted;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const Part& part = parts_[batch_begin_ + i];
    const StoredTensor& tensor = manifest_.tensors[static_cast<std::size_t>(part.tensor)];
    wanted.push_back({tensor.name, part.box, data_.data() + offsets_[i], tensor.dtype, tensor.shape});
  }
  read_pieces(directory_, small.get(), wanted);
}

}  // namespace octet::checkpoint
