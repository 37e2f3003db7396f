#include "src/data/batches.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/round_up.h"

namespace octet {

void Batch::resize(std::int64_t sequences, std::int64_t tokens_each) {
  micro_batch = sequences;
  seq_len = tokens_each;
  tokens.resize(static_cast<std::size_t>(sequences * tokens_each));
  targets.resize(static_cast<std::size_t>(sequences * tokens_each));
  document_begin.clear();
}

std::int64_t WorkShare::of(std::int64_t samples) const {
  return ceil_div(std::max<std::int64_t>(samples - first, 0), every);
}

std::int64_t micro_batches_of(std::int64_t global_batch, const BatchLayout& layout) {
  const std::int64_t at_once = layout.ranks * layout.micro_batch;
  if (layout.ranks < 1 || layout.micro_batch < 1 || global_batch % at_once != 0) {
    throw usage_error("data",
                      "train.global_batch {} is not a multiple of data-parallel ranks {} times train.micro_batch {}",
                      global_batch, layout.ranks, layout.micro_batch);
  }
  return global_batch / at_once;
}

std::int64_t DryBatches::micro_batches(const BatchLayout& layout) const {
  return micro_batches_of(global_batch_, layout);
}

void DryBatches::train_batch(std::int64_t, const BatchLayout& layout, std::int64_t, Batch& batch) const {
  batch.resize(layout.micro_batch, seq_len_);
}

StepWork DryBatches::step_work(std::int64_t, const WorkShare& share) const {
  const std::int64_t samples = share.of(global_batch_);
  return {samples * seq_len_, samples * seq_len_ * seq_len_};
}

void DryBatches::validation_batch(std::int64_t, const BatchLayout& layout, std::int64_t, Batch& batch) const {
  batch.resize(layout.micro_batch, seq_len_);
}

}  // namespace octet
