#include "src/parallel/sharded_parameters.h"

#include <algorithm>

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

/// Values [begin, begin + count) of the rank's piece.
std::vector<float> initial_values(const ParameterSpec& spec, const Shard& shard, std::int64_t begin, std::int64_t count,
                                  std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count), 1.0f);
  if (spec.init_std == 0) return values;
  const RandomKey key{seed, RandomPurpose::initial_weights, static_cast<std::uint32_t>(spec.id)};
#pragma omp parallel for schedule(static)
  for (std::int64_t e = 0; e < count; ++e) {
    const auto element = static_cast<std::uint64_t>(shard.global_element(begin + e));
    values[static_cast<std::size_t>(e)] =
        static_cast<float>(spec.init_std * random_normal(key, element, spec.init_cutoff));
  }
  return values;
}

}  // namespace

void initialize(const ParameterList& list, ShardedBuffer& master, std::uint64_t seed, Device& device, Stream& stream) {
  if (!device.has_memory()) return;
  constexpr std::int64_t most = 1 << 20;  // elements on the host at a time
  for (std::size_t i = 0; i < list.parameters.size(); ++i) {
    const Shard& shard = master.layout().shard(i);
    for (std::int64_t begin = 0; begin < shard.elements(); begin += most) {
      const std::int64_t count = std::min(most, shard.elements() - begin);
      const std::vector<float> values = initial_values(list.parameters[i], shard, begin, count, seed);
      device.copy_from_host(master.data(i) + begin, values.data(), count * 4, stream);
      stream.synchronize();
    }
  }
}

}  // namespace octet
