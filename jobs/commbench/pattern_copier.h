#pragma once

#include <cstdint>

#include "jobs/commbench/pattern.h"
#include "src/device/device.h"
#include "src/device/host_buffer.h"

namespace octet::commbench {

/// Writes a pattern into memory of a stream's device and compares what came with it, chunk by chunk through the host.
/// Every call waits for the stream.
class PatternCopier {
 public:
  explicit PatternCopier(Stream& stream);

  /// Elements [begin, begin + n) of `source` (Pattern::write).
  void write(void* to, DType dtype, Pattern& pattern, int source, std::int64_t begin, std::int64_t n);
  /// How many of `n` elements are not those. Every byte is compared.
  std::int64_t count_wrong(const void* found, DType dtype, Pattern& pattern, int source, std::int64_t begin,
                           std::int64_t n);
  /// What no pattern holds, 0xFF: NaN in every floating-point type, 255 in a byte, -1 in an integer.
  void poison(void* to, std::int64_t bytes);

 private:
  Stream& stream_;
  Device& device_;
  HostBuffer found_, expected_;  ///< of a chunk
};

}  // namespace octet::commbench
