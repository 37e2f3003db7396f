#include "src/parallel/sharded_parameters.h"

#include "kernels/table.h"
#include "src/base/random.h"

namespace octet {

ShardLayout::ShardLayout(const ParameterList& list, int rank, int ranks) : ranks_(ranks) {
  constexpr std::int64_t alignment = 64;  // elements: 256 bytes
  for (const ParameterSpec& p : list.parameters) {
    shards_.push_back(Shard::of(p.global, p.cut, rank, ranks));
    offsets_.push_back(elements_);
    elements_ += (shards_.back().padded_elements() + alignment - 1) / alignment * alignment;
  }
}

ShardedBuffer::ShardedBuffer(const ShardLayout& layout, MemorySource& source, Stream& stream, Purpose purpose)
    : layout_(&layout), buffer_(source, layout.bytes(), purpose) {
  stream.device().zero(buffer_.data(), buffer_.bytes(), stream);
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
