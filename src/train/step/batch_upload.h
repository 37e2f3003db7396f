#pragma once

#include <array>
#include <memory>

#include "src/data/sampler.h"
#include "src/device/host_buffer.h"
#include "src/tensor/tensor.h"

namespace octet {

/// Brings batches to the device without waiting for it: two host copies in turn, each refilled only when the device has
/// taken it.
class BatchUpload {
 public:
  BatchUpload(Stream& stream, std::int64_t micro_batch, std::int64_t seq_len);

  struct OnDevice {
    Tensor tokens, targets;  ///< [micro_batch, seq_len] int32, until the next call
  };
  OnDevice upload(const Batch& batch);

 private:
  struct Slot {
    HostBuffer host;
    std::unique_ptr<Event> taken;
    bool used = false;
  };

  Stream& stream_;
  TensorBuffer tokens_, targets_;
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
};

}  // namespace octet
