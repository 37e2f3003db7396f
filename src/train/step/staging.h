#pragma once

#include <cstdint>

#include "src/device/device.h"
#include "src/device/host_buffer.h"

namespace octet {

/// Host memory through which weights go to the device of a stream, one list of parameters after the other. It is kept
/// from one to the next and only grows, since fresh memory costs more than the copy: the system zeroes each page of it.
class Staging {
 public:
  explicit Staging(Stream& stream) : stream_(stream) {}

  Stream& stream() const { return stream_; }
  /// Memory of that many elements at least, with what was there before. It ends what an earlier call returned, of which
  /// no copy may be under way any more.
  float* of(std::int64_t elements) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(float));
    if (memory_.bytes() < bytes) {
      memory_ = {};  // never two at a time
      memory_ = HostBuffer(stream_.device(), bytes);
    }
    return memory_.as<float>();
  }

 private:
  Stream& stream_;
  HostBuffer memory_;
};

}  // namespace octet
