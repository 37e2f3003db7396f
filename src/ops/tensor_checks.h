#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/device/buffer.h"

namespace octet {

/// Counters of NaN and infinite elements, one for each named tensor of each unit, on the device. Kernels add to them
/// while they write; the trainer reads them at the end of a step. Counted by comparison of the elements themselves,
/// never inferred from an abs-max.
class TensorChecks {
 public:
  struct Finding {
    std::string unit;
    std::string tensor;
    std::int64_t count = 0;
    /// "3 non-finite element(s) in block.0, input"; "at least 4294967295 ..." from there on, where a counter stops.
    std::string text() const;
  };

  TensorChecks(Device& device, Stream& stream, std::vector<std::string> units, std::vector<std::string> tensors);

  std::uint32_t* counter(int unit, int tensor) const {
    return counters_.as<std::uint32_t>() + static_cast<std::size_t>(unit) * tensors_.size() +
           static_cast<std::size_t>(tensor);
  }
  std::uint32_t* all() const { return counters_.as<std::uint32_t>(); }
  std::int64_t size() const { return static_cast<std::int64_t>(units_.size() * tensors_.size()); }

  /// Non-zero counters; waits for the stream.
  std::vector<Finding> read(Stream& stream) const;
  /// What the counts [size()] say that are on the host, of one rank or summed.
  std::vector<Finding> findings(const std::int64_t* counts) const;
  void reset(Stream& stream);

 private:
  std::vector<std::string> units_;
  std::vector<std::string> tensors_;
  Device& device_;
  Buffer counters_;
};

}  // namespace octet
