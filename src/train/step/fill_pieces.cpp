#include "src/train/step/fill_pieces.h"

#include <vector>

namespace octet {

checkpoint::Box box_of(const Shard& shard) {
  checkpoint::Box box;
  box.offset[0] = shard.offset;
  box.offset[1] = shard.column;
  box.extent = shard.cut.with_rows(shard.rows);
  return box;
}

void fill_pieces(const ParameterList& list, const ShardedBuffer& buffer, Stream& stream,
                 const std::function<void(std::span<const HostPiece>)>& read) {
  const ShardLayout& layout = buffer.layout();
  Device& device = stream.device();
  const bool direct = device.type() == DeviceType::cpu;  // device memory is the host's
  std::vector<float> staging(direct ? 0 : static_cast<std::size_t>(layout.elements()));
  const auto place = [&](std::size_t i) { return direct ? buffer.data(i) : staging.data() + layout.offset(i); };
  std::vector<HostPiece> pieces;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout.shard(i).rows == 0) continue;
    pieces.push_back({.parameter = list.parameters[i], .box = box_of(layout.shard(i)), .data = place(i)});
  }
  if (direct) stream.synchronize();
  read(pieces);
  for (std::size_t i = 0; i < layout.size() && !direct; ++i) {
    device.copy_from_host(buffer.data(i), place(i), layout.shard(i).elements() * 4, stream);
  }
  stream.synchronize();  // the staging memory ends here
}

}  // namespace octet
