#include "checkpoints/mean_reader.h"

#include <algorithm>

#include "src/base/error.h"

namespace octet::checkpoint {
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
