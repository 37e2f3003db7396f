#include "checkpoints/restore/file_parts.h"

#include <algorithm>
#include <map>

#include "checkpoints/restore/resharding.h"
#include "src/base/error.h"
#include "src/base/round_up.h"

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
    end += round_up(bytes, alignment);
    small.add(parts_[i].tensor, pieces_of_[tensor]);
  }
  if (static_cast<std::int64_t>(data_.size()) < end) data_.resize(static_cast<std::size_t>(end));

  std::vector<WantedPiece> wanted;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const Part& part = parts_[batch_begin_ + i];
    const StoredTensor& tensor = manifest_.tensors[static_cast<std::size_t>(part.tensor)];
    wanted.push_back({tensor.name, part.box, data_.data() + offsets_[i], tensor.dtype, tensor.shape});
  }
  files::ReadProgress nobody_waits;
  read_pieces(directory_, small.get(), wanted, shards_, nobody_waits);
}

namespace {

std::int32_t place_of(const StoredTensor& tensor, const WholeCheckpoint& in) {
  const auto found = std::ranges::find(in.manifest.tensors, tensor.name, &StoredTensor::name);
  if (found == in.manifest.tensors.end()) throw usage_error("checkpoints", "{}: has no {}", in.directory, tensor.name);
  if (found->shape != tensor.shape || found->dtype != DType::f32) {
    throw usage_error("checkpoints", "{}: {} is {} of {}, expected {} of f32", in.directory, tensor.name,
                      found->shape.text(), name_of(found->dtype), tensor.shape.text());
  }
  return static_cast<std::int32_t>(found - in.manifest.tensors.begin());
}

/// What a reader may take: all that there is for one, which hands out what it has read; else a share for each reader,
/// two for the sums and one for the means.
std::int64_t share_of(std::int64_t most, std::size_t checkpoints) {
  return checkpoints == 1 ? most : most / (static_cast<std::int64_t>(checkpoints) + 3);
}

}  // namespace

MeanReader::MeanReader(const std::vector<WholeCheckpoint>& from, const std::vector<StoredTensor>& tensors,
                       std::int64_t most) {
  const std::int64_t share = share_of(most, from.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto of_tensor = row_parts(tensors[t], static_cast<std::int32_t>(t), share);
    parts_.insert(parts_.end(), of_tensor.begin(), of_tensor.end());
  }
  for (const WholeCheckpoint& in : from) {
    std::vector<std::int32_t> places;
    places.reserve(tensors.size());
    for (const StoredTensor& t : tensors) places.push_back(place_of(t, in));
    std::vector<Part> there = parts_;
    for (Part& part : there) part.tensor = places[static_cast<std::size_t>(part.tensor)];
    readers_.emplace_back(in.directory, in.manifest, std::move(there), share);
  }
}

const float* MeanReader::next() {
  if (readers_.size() == 1) return static_cast<const float*>(readers_.front().next());
  if (next_ == parts_.size()) throw internal_error("checkpoints", "more than {} parts are asked for", parts_.size());
  const auto elements = static_cast<std::size_t>(parts_[next_++].box.extent.elements());
  sum_.assign(elements, 0.0);
  for (PartReader& reader : readers_) {
    const auto* values = static_cast<const float*>(reader.next());
    for (std::size_t i = 0; i < elements; ++i) sum_[i] += static_cast<double>(values[i]);
  }
  mean_.resize(elements);
  const auto count = static_cast<double>(readers_.size());
  std::ranges::transform(sum_, mean_.begin(), [count](double sum) { return static_cast<float>(sum / count); });
  return mean_.data();
}

}  // namespace octet::checkpoint
