#pragma once

#include <cstdint>
#include <vector>

#include "src/model/head.h"
#include "src/model/kv_cache.h"
#include "src/model/parameters.h"
#include "src/model/recompute.h"
#include "src/ops/row_documents.h"

namespace octet {

/// How a Llama computes, on one rank: all that its passes and the plan of its memory depend on.
struct LlamaSettings {
  ModelConfig model{};
  Precision precision = Precision::bf16;
  Float8Config float8{};
  std::int64_t micro_batch = 1;
  std::int64_t seq_len = 0;
  Part tp{};                      ///< this rank's part of a tensor-parallel group
  bool tp_keep_gathered = false;  ///< gathered inputs of linears stay until backward, else they are gathered again
  bool async_tp = false;          ///< the exchange is pipelined
  RecomputeConfig recompute{};
  bool documents = false;           ///< rows may hold several
  bool forward_only = false;        ///< no pass trains: memory is planned for score() and evaluate() alone
  std::int64_t cache_rows = 0;      ///< tokens that extend() gives a text, for which alone memory is planned then
  std::vector<UnitRange> stages{};  ///< stages of this rank, each with a block at least; none: all units as one
  int slots = 1;                    ///< micro-batches at most between their forward and the end of their backward
  bool split_backward = false;      ///< memory is planned for backward in two parts
  DType gemm_gradient_dtype = DType::f32;  ///< for the plan, dtype of targets that one GEMM writes whole: f32 or bf16

  /// The multiple of which the tokens of a pass must be for fp8 GEMMs on this device; 1 where there are none.
  std::int64_t gemm_multiple(DeviceType device) const;
  /// The number of tokens in a pass of extend() is a multiple of this.
  std::int64_t cached_multiple(DeviceType device) const;
  /// The numbers of tokens that a pass of extend() may have, rising from that multiple to a whole micro-batch. They are
  /// few, since libraries prepare a GEMM for each.
  std::vector<std::int64_t> cached_passes(DeviceType device) const;
  /// Rows of the cache: the last pass may have more tokens than are left.
  std::int64_t rows_of_cache(DeviceType device) const { return cache_rows + cached_passes(device).back(); }
};

/// What a pass is given of a micro-batch: on the device, [micro_batch, seq_len] int32.
struct MicroBatch {
  const std::int32_t* tokens = nullptr;   ///< read where the embedding is, until the end of backward
  const std::int32_t* targets = nullptr;  ///< read in forward where the head is; negative ones are not counted
  float loss_scale = 1;                   ///< gradients are those of loss_scale · sum of token losses
  float* loss_sum = nullptr;              ///< where the head is: the sum is added to it
  PackedDocuments documents{};            ///< read until the end of backward; only with LlamaSettings::documents
  ScoredTokens scored{};                  ///< for score() and extend() alone
  CachedTokens cached{};                  ///< for extend() alone
  SharedPrefixes shared{};                ///< for score() alone
};

}  // namespace octet
