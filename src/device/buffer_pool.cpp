#include "src/device/buffer_pool.h"

#include <algorithm>

namespace octet {

Buffer BufferPool::acquire(std::int64_t bytes) {
  const auto fit = std::find_if(idle_.begin(), idle_.end(), [&](const Buffer& b) { return b.bytes() == bytes; });
  if (fit == idle_.end()) {
    if (source_.cheap()) idle_.clear();
    return {source_, bytes, purpose_};
  }
  Buffer found = std::move(*fit);
  idle_.erase(fit);
  return found;
}

}  // namespace octet
