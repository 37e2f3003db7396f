#pragma once

#include <cstdint>
#include <vector>

#include "src/comm/mesh.h"
#include "src/evaluate/forward_weights.h"
#include "src/evaluate/score_rows.h"
#include "src/model/llama.h"
#include "src/parallel/tp_exchange.h"

namespace octet {

/// A model that only computes forward: no gradients, no optimizer, and activations of one block at a time. The ranks of
/// tp have parts of it as in training; of those between which data are divided each has all of what it computes with.
class ForwardModel {
 public:
  /// `settings`: of rows that may hold several documents; forward_only is set here. `mesh`: its groups on `stream`.
  ForwardModel(LlamaSettings settings, Mesh& mesh, Stream& stream);

  const ParameterList& parameters() const { return llama_.parameters(); }
  /// Makes what the model computes with from the fp32 weights that `read` gives, unit by unit. Once, before the first
  /// pass. Collective.
  void load(const ForwardWeights::ReadMasters& read) { weights_.load(read); }

  std::int64_t row_tokens() const { return settings_.seq_len * settings_.micro_batch; }
  const LlamaSettings& settings() const { return settings_; }
  /// The likelihood of each target of a row. Collective over tp. Main thread; waits for the device.
  std::vector<TokenLikelihood> score(const ScoreRow& row);

  /// The model and its weights, for passes of another kind.
  Llama& llama() { return llama_; }
  WeightProvider& weights() { return weights_; }

 private:
  /// On the device, where it stays until the next call.
  const std::int32_t* upload(Buffer& to, const std::vector<std::int32_t>& values);
  PackedDocuments upload_documents(const ScoreRow& row);
  SharedPrefixes upload_shared(const ScoreRow& row);

  LlamaSettings settings_;
  Stream& stream_;
  TpExchange exchange_;
  Llama llama_;
  ForwardWeights weights_;
  Buffer tokens_, begin_, starts_, spans_, origin_, predicted_from_, targets_, stats_;
  DocumentList documents_on_host_;  ///< until the device has them
  std::vector<float> stats_on_host_;
};

}  // namespace octet
