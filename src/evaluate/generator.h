#pragma once

#include <span>
#include <vector>

#include "src/evaluate/forward_model.h"

namespace octet {

/// A text that grows: the model sees each token once, and keeps keys and values of all that it has seen. Every rank of
/// the model's tp group does the same calls and gets the same logits. Main thread.
class Generator {
 public:
  /// `model`: made with LlamaSettings::cache_rows, which is the most that a text can have. `mesh`: the model's.
  Generator(ForwardModel& model, Mesh& mesh, Stream& stream);

  /// Appends tokens, at least one, ids of the vocabulary. Returns the logits of what comes behind the last of them,
  /// [vocab], until the next call. Waits for the device. Internal error where they do not fit.
  std::span<const float> extend(std::span<const std::int32_t> tokens);
  /// Tokens so far.
  std::int64_t tokens() const { return seen_; }

 private:
  void pass(std::span<const std::int32_t> tokens, std::int64_t padded);
  void gather_logits();

  ForwardModel& model_;
  Mesh& mesh_;
  Stream& stream_;
  std::vector<std::int64_t> passes_;
  KeyValueCache cache_;
  std::int64_t seen_ = 0;
  Buffer pass_inputs_;  ///< spans, ids, document begins of a pass's tokens, and the one whose logits are read
  Buffer logits_;       ///< of this rank, and behind them of all
  std::vector<std::int32_t> pass_inputs_on_host_;
  std::vector<float> logits_on_host_;
};

}  // namespace octet
