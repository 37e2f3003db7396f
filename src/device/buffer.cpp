#include "src/device/buffer.h"

#include <utility>

namespace octet {

Buffer::Buffer(Device& device, std::int64_t bytes, Purpose purpose)
    : device_(&device), data_(bytes > 0 ? device.allocate(bytes) : nullptr), bytes_(bytes), purpose_(purpose) {
  device.ledger().add(purpose, bytes);
}

void Buffer::release() noexcept {
  if (device_ == nullptr) return;
  device_->ledger().remove(purpose_, bytes_);
  if (data_ != nullptr) device_->deallocate(data_, bytes_);
  device_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(purpose_, other.purpose_);
}

}  // namespace octet
