#include "src/device/arena.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/round_up.h"

namespace octet {

Arena::Arena(Device& device, std::int64_t bytes, Purpose purpose, std::string name)
    : buffer_(device, bytes, purpose), name_(std::move(name)) {}

void* Arena::allocate(std::int64_t bytes) {
  const std::int64_t begin = used_;
  const std::int64_t end = begin + round_up(bytes, alignment);
  if (!measuring_ && end > buffer_.bytes()) {
    throw internal_error("device", "arena '{}' is full: {} bytes asked, {} of {} in use", name_, bytes, begin,
                         buffer_.bytes());
  }
  used_ = end;
  high_water_ = std::max(high_water_, used_);
  return measuring_ ? nullptr : static_cast<char*>(buffer_.data()) + begin;
}

}  // namespace octet
