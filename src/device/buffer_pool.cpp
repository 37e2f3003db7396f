#include "src/device/buffer_pool.h"

#include <algorithm>

namespace octet {

Buffer BufferPool::acquire(std::int64_t bytes) {
  const auto fit = std::find_if(idle_.begin(), idle_.end(), [&](const Buffer& b) { return b.bytes() == bytes; });
  if (fit == idle_.end()) return {device_, bytes, purpose_};
  Buffer found = std::move(*fit);
  idle_.erase(fit);
  return found;
}

void BufferPool::give_back(Buffer buffer) {
  idle_.push_back(std::move(buffer));
  if (idle_.size() > max_idle_) idle_.erase(idle_.begin());
}

}  // namespace octet
