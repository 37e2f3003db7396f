#include "src/parallel/poison.h"

#include <algorithm>
#include <vector>

namespace octet {

void poison(Device& device, Stream& stream, void* data, std::int64_t bytes) {
  constexpr std::int64_t most = 1 << 20;
  const std::vector<unsigned char> nan(static_cast<std::size_t>(std::min(bytes, most)), 0xFF);
  for (std::int64_t begin = 0; begin < bytes; begin += most) {
    device.copy_from_host(static_cast<char*>(data) + begin, nan.data(), std::min(most, bytes - begin), stream);
  }
  stream.synchronize();
}

}  // namespace octet
