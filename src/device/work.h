#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/dtype.h"

namespace octet {

class Stream;

/// What a kernel or a collective asks of the stream that it is given to.
struct Work {
  std::string_view name;          ///< of the kernel, or of the communicator's method
  double flops = 0;               ///< of GEMMs, and of attention, whose score matrix is counted whole
  DType multiplied = DType::f32;  ///< what those multiply
  std::int64_t bytes = 0;         ///< of a kernel, that it must read and write; of collectives, CommRecord::bytes
  std::string_view group{};       ///< of collectives
  int ranks = 0;                  ///< of the group; 0: a kernel
  double bus_bytes = 0;           ///< of collectives (src/comm/trace.h)
  /// Of a kernel: its arguments, of the type that its entry in the kernel table takes, for as long as it is told of.
  const void* arguments = nullptr;
};

/// The moment at which a stream comes to a piece of work: it is done with what it was given before and with what it
/// waits for.
struct Turn {
  std::int64_t number = 0;                ///< of the piece, counted over the device from 0 in the order of issue
  double begin = 0;                       ///< in seconds since the device was made
  std::span<const std::int64_t> after{};  ///< pieces of other streams for which the stream waits just before this one
};

/// Is told of all work of a device without memory (make_dry_device).
class WorkLog {
 public:
  virtual ~WorkLog() = default;
  /// Which stream is the model's; before any work.
  virtual void set_model_stream(const Stream& /*stream*/) {}
  /// Returns how many seconds the work takes.
  virtual double add(const Stream& stream, const Work& work, const Turn& turn) = 0;
};

}  // namespace octet
