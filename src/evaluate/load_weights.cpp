#include <algorithm>
#include <optional>

#include "checkpoints/import.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/evaluate/model_source.h"
#include "src/train/step/model_state.h"

namespace octet {
namespace {

constexpr std::int64_t most_floats = 1 << 22;  // of rows that are read at once

/// This rank's piece of a parameter out of whole rows of it.
void read_piece(const checkpoint::HuggingFaceModel& from, const std::string& name, const Shard& shard, float* piece) {
  const std::int64_t columns = shard.cut.row_elements(), row = shard.global.row_elements();
  if (columns == row) return from.read_rows(name, shard.offset, shard.rows, piece);
  const std::int64_t at_once = std::max<std::int64_t>(1, most_floats / row);
  std::vector<float> rows;
  for (std::int64_t first = 0; first < shard.rows; first += at_once) {
    const std::int64_t count = std::min(at_once, shard.rows - first);
    rows.resize(static_cast<std::size_t>(count * row));
    from.read_rows(name, shard.offset + first, count, rows.data());
    for (std::int64_t r = 0; r < count; ++r) {
      const float* begin = rows.data() + r * row + shard.column;
      std::copy(begin, begin + columns, piece + (first + r) * columns);
    }
  }
}

void load_folder(const std::string& directory, const ParameterList& list, const ShardedBuffer& master, Stream& stream) {
  const checkpoint::HuggingFaceModel from(directory);
  for (const std::string& name : from.ignored()) log::info("not needed: {}", name);
  Device& device = stream.device();
  const ShardLayout& layout = master.layout();
  stream.synchronize();
  std::vector<float> staging;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const Shard& shard = layout.shard(i);
    if (shard.rows == 0) continue;
    if (device.type() == DeviceType::cpu) {  // device memory is the host's
      read_piece(from, list.parameters[i].name, shard, master.data(i));
      continue;
    }
    staging.resize(static_cast<std::size_t>(shard.elements()));
    read_piece(from, list.parameters[i].name, shard, staging.data());
    device.copy_from_host(master.data(i), staging.data(), shard.elements() * 4, stream);
    stream.synchronize();
  }
}

}  // namespace

void load_weights(const ModelSource& source, const ParameterList& list, const ShardedBuffer& master, Stream& stream,
                  Communicator& hosts) {
  if (source.hugging_face) return load_folder(source.directory, list, master, stream);
  load_masters(list, master, source.directory, source.manifest, stream, &hosts);
}

}  // namespace octet
