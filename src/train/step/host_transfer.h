#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/data/sampler.h"
#include "src/device/host_buffer.h"
#include "src/tensor/tensor.h"
#include "src/train/step/sharded_model.h"

namespace octet {

/// Brings batches to the device without waiting for it: two host copies in turn, each refilled only when the device has
/// taken it.
class BatchUpload {
 public:
  /// `documents`: batches may have several documents in a row.
  BatchUpload(Stream& stream, std::int64_t micro_batch, std::int64_t seq_len, bool documents);

  struct OnDevice {
    Tensor tokens, targets;       ///< [micro_batch, seq_len] int32, until the next call
    PackedDocuments documents{};  ///< likewise
  };
  OnDevice upload(const Batch& batch);

 private:
  struct Slot {
    HostBuffer host;
    std::unique_ptr<Event> taken;
    bool used = false;
  };

  PackedDocuments upload_documents(const Batch& batch, void* host);

  Stream& stream_;
  TensorBuffer tokens_, targets_;
  TensorBuffer document_begin_, document_starts_;  ///< with documents alone
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
};

/// What a pass leaves on the device for the host, as it was when the stream got there.
struct Reading {
  float loss_sum = 0;
  float grad_norm = 0;
  bool skipped = false;               ///< GradientNorm's flag
  std::vector<std::uint32_t> counts;  ///< ShardedModel::counters(), of this rank
};

/// Takes the model's scalars to host memory without waiting for the device, and reads them later: two at most are on
/// their way. Main thread; nothing collective.
class ScalarReader {
 public:
  ScalarReader(ShardedModel& model, Stream& stream);

  /// Copies, in the order of the stream, and resets the counters. `loss_sum` is on the device.
  void take(const float* loss_sum);
  /// The oldest that was taken; waits for the device to get there.
  Reading read();

 private:
  struct Slot {
    HostBuffer host;  ///< loss_sum, grad_norm, skipped, counts
    std::unique_ptr<Event> there;
  };

  ShardedModel& model_;
  Stream& stream_;
  std::array<Slot, 2> slots_;
  std::size_t first_ = 0;  ///< slot of the oldest
  std::size_t taken_ = 0;
};

}  // namespace octet
