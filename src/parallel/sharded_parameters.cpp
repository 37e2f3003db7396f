#include "src/parallel/sharded_parameters.h"

#include <algorithm>
#include <utility>

#include "kernels/table.h"
#include "src/base/error.h"
#include "src/base/random.h"
#include "src/base/round_up.h"

namespace octet {

ShardLayout::ShardLayout(const ParameterList& list, int rank, int ranks) : ranks_(ranks) {
  constexpr std::int64_t alignment = place_alignment / size_of(DType::f32);  // elements
  for (const ParameterSpec& p : list.parameters) {
    shards_.push_back(Shard::of(p.global, p.cut, rank, ranks));
    offsets_.push_back(elements_);
    elements_ += round_up(shards_.back().padded_elements(), alignment);
  }
}

ShardedBuffer::ShardedBuffer(const ShardLayout& layout, MemorySource& source, Stream& stream, Purpose purpose)
    : ShardedBuffer(layout, source, stream, purpose, std::vector<DType>(layout.size(), DType::f32)) {}

ShardedBuffer::ShardedBuffer(const ShardLayout& layout, MemorySource& source, Stream& stream, Purpose purpose,
                             std::vector<DType> dtypes)
    : layout_(&layout), dtypes_(std::move(dtypes)) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    offsets_.push_back(bytes);
    const std::int64_t piece = layout.shard(i).padded_elements() * size_of(dtypes_.at(i));
    bytes += round_up(piece, place_alignment);
  }
  buffer_ = Buffer(source, bytes, purpose);
  stream.device().zero(buffer_.data(), buffer_.bytes(), stream);
}

float* ShardedBuffer::data(std::size_t i) const {
  if (dtypes_[i] != DType::f32) {
    throw internal_error("parallel", "piece {} of a sharded buffer, {}, read as f32", i, name_of(dtypes_[i]));
  }
  return static_cast<float*>(piece(i));
}

float* ShardedBuffer::all() const {
  if (std::ranges::any_of(dtypes_, [](DType d) { return d != DType::f32; })) {
    throw internal_error("parallel", "a sharded buffer with pieces in bf16 read as one of f32");
  }
  return buffer_.as<float>();
}

namespace {

void fill(const ParameterSpec& spec, const Shard& shard, float* piece, std::uint64_t seed, Device& device,
          Stream& stream) {
  if (spec.init_std == 0) {  // the norms' weights, which are few
    const std::vector<float> ones(static_cast<std::size_t>(shard.elements()), 1.0f);
    device.copy_from_host(piece, ones.data(), shard.elements() * 4, stream);
    stream.synchronize();
    return;
  }
  kernels_of(stream).fill_normal(stream,
                                 {.x = piece,
                                  .n = shard.elements(),
                                  .columns = shard.cut.row_elements(),
                                  .first_row = shard.offset,
                                  .first_column = shard.column,
                                  .row_elements = shard.global.row_elements(),
                                  .key = {seed, RandomPurpose::initial_weights, static_cast<std::uint32_t>(spec.id)},
                                  .std = spec.init_std,
                                  .below = below_cutoff(spec.init_cutoff)});
}

}  // namespace

void initialize(const ParameterList& list, ShardedBuffer& master, std::uint64_t seed, Device& device, Stream& stream) {
  if (!device.has_memory()) return;
  for (std::size_t i = 0; i < list.parameters.size(); ++i) {
    fill(list.parameters[i], master.layout().shard(i), master.data(i), seed, device, stream);
  }
}

}  // namespace octet
