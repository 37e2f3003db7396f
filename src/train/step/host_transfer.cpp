#include "src/train/step/host_transfer.h"

#include <cstring>

#include "src/base/error.h"
#include "src/comm/operation.h"
#include "src/ops/row_documents.h"
#include "src/profile/timeline.h"

namespace octet {

BatchUpload::BatchUpload(Stream& stream, std::int64_t micro_batch, std::int64_t seq_len, bool documents)
    : stream_(stream),
      tokens_(stream.device(), DType::i32, {micro_batch, seq_len}, Purpose::data),
      targets_(stream.device(), DType::i32, {micro_batch, seq_len}, Purpose::data) {
  std::int64_t bytes = 2 * tokens_.view().bytes();
  if (documents) {
    const std::int64_t tokens = micro_batch * seq_len;
    document_begin_ = TensorBuffer(stream.device(), DType::i32, {tokens}, Purpose::data);
    document_starts_ = TensorBuffer(stream.device(), DType::i32, {document_places(tokens) + 1}, Purpose::data);
    bytes += document_begin_.view().bytes() + document_starts_.view().bytes();
  }
  for (Slot& slot : slots_) {
    slot.host = HostBuffer(stream.device(), bytes);
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
  char* place = slot.host.as<char>();
  const auto copy = [&](const std::vector<std::int32_t>& values, const Tensor& to) {
    std::memcpy(place, values.data(), static_cast<std::size_t>(to.bytes()));
    stream_.device().copy_from_host(to.data, place, to.bytes(), stream_);
    place += to.bytes();
  };
  copy(batch.tokens, tokens_.view());
  copy(batch.targets, targets_.view());
  OnDevice on_device{tokens_, targets_, {}};
  if (!batch.document_begin.empty()) {
    copy(batch.document_begin, document_begin_.view());
    on_device.documents = upload_documents(batch, place);
  }
  stream_.record(*slot.taken);
  slot.used = true;
  return on_device;
}

/// Lists the documents in `host` and on the device.
PackedDocuments BatchUpload::upload_documents(const Batch& batch, void* host) {
  const DocumentList list = list_documents(batch.document_begin, batch.seq_len);
  const auto bytes = static_cast<std::int64_t>(list.starts.size() * sizeof(std::int32_t));
  std::memcpy(host, list.starts.data(), static_cast<std::size_t>(bytes));
  stream_.device().copy_from_host(document_starts_.view().data, host, bytes, stream_);
  return {.begin = document_begin_.view().as<std::int32_t>(),
          .starts = document_starts_.view().as<std::int32_t>(),
          .places = list.places(),
          .longest = list.longest};
}

namespace {

constexpr std::int64_t scalars = 3;  // of 4 bytes

}  // namespace

ScalarReader::ScalarReader(ShardedModel& model, Stream& stream) : model_(model), stream_(stream) {
  for (Slot& slot : slots_) {
    slot.host = HostBuffer(stream.device(), (scalars + model.counters()) * 4);
    slot.there = stream.device().make_event();
  }
}

void ScalarReader::take(const float* loss_sum) {
  if (taken_ == slots_.size()) throw internal_error("train", "{} readings wait to be read", taken_);
  const Slot& slot = slots_[(first_ + taken_++) % slots_.size()];
  auto* host = slot.host.as<char>();
  Device& device = stream_.device();
  device.copy_to_host(host, loss_sum, 4, stream_);
  device.copy_to_host(host + 4, model_.norm().norm(), 4, stream_);
  device.copy_to_host(host + 8, model_.norm().skip(), 4, stream_);
  model_.copy_and_reset_counters(slot.host.as<std::uint32_t>() + scalars);
  stream_.record(*slot.there);
}

Reading ScalarReader::read() {
  if (taken_ == 0) throw internal_error("train", "nothing was taken that could be read");
  const Slot& slot = slots_[first_];
  {
    const OperationScope operation("wait for the device");
    const HostSpan span("wait for scalars");
    await(*slot.there, operation);
  }
  first_ = (first_ + 1) % slots_.size();
  --taken_;
  Reading reading;
  const auto* host = slot.host.as<char>();
  std::uint32_t skip = 0;
  std::memcpy(&reading.loss_sum, host, 4);
  std::memcpy(&reading.grad_norm, host + 4, 4);
  std::memcpy(&skip, host + 8, 4);
  reading.skipped = skip != 0;
  const auto* counts = slot.host.as<std::uint32_t>() + scalars;
  reading.counts.assign(counts, counts + model_.counters());
  return reading;
}

}  // namespace octet
