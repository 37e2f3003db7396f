#include "src/train/step/batch_upload.h"

#include <cstring>

#include "src/comm/watchdog.h"

#include "src/profile/timeline.h"

namespace octet {

BatchUpload::BatchUpload(Stream& stream, std::int64_t micro_batch, std::int64_t seq_len)
    : stream_(stream),
      tokens_(stream.device(), DType::i32, {micro_batch, seq_len}, Purpose::data),
      targets_(stream.device(), DType::i32, {micro_batch, seq_len}, Purpose::data) {
  for (Slot& slot : slots_) {
    slot.host = HostBuffer(stream.device(), tokens_.view().bytes() + targets_.view().bytes());
    slot.taken = stream.device().make_event();
  }
}

BatchUpload::OnDevice BatchUpload::upload(const Batch& batch) {
  const HostSpan span("upload batch");
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  if (slot.used && !slot.taken->complete()) {  // the host is two micro-batches ahead
    const OperationScope operation("wait for the device");
    await(*slot.taken, operation);
  }
  const std::int64_t bytes = tokens_.view().bytes();
  char* tokens = slot.host.as<char>();
  char* targets = tokens + bytes;
  std::memcpy(tokens, batch.tokens.data(), static_cast<std::size_t>(bytes));
  std::memcpy(targets, batch.targets.data(), static_cast<std::size_t>(bytes));
  stream_.device().copy_from_host(tokens_.view().data, tokens, bytes, stream_);
  stream_.device().copy_from_host(targets_.view().data, targets, bytes, stream_);
  stream_.record(*slot.taken);
  slot.used = true;
  return {tokens_, targets_};
}

}  // namespace octet
