#include "src/device/buffer.h"

#include <algorithm>

namespace octet {

Buffer::Buffer(MemorySource& source, std::int64_t bytes, Purpose purpose)
    : source_(&source), data_(bytes > 0 ? source.allocate(bytes) : nullptr), bytes_(bytes), purpose_(purpose) {
  source.ledger().add(purpose, bytes);
}

void Buffer::release() noexcept {
  if (source_ == nullptr) return;
  source_->ledger().remove(purpose_, bytes_);
  if (data_ != nullptr) source_->deallocate(data_, bytes_);
  source_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(source_, other.source_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(purpose_, other.purpose_);
}

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
