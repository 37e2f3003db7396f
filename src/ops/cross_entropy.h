#pragma once

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// Cross-entropy (natural log) of logits [n, vocab] fp32 whose columns are this rank's part of the vocabulary, all
/// parts of one length (the run is refused where parallel.tp does not divide the vocabulary). `targets` [n]: ids of the
/// whole vocabulary, negative where a token is not counted. The ranks exchange three numbers a row (maximum, sum of
/// exponentials, the target's logit), and each computes the same losses [n] fp32.
/// d_logits: of rank 0, or [n, vocab] in f32 (it may be logits) or bf16, which gets the gradient of scale · sum of
/// losses by this rank's columns.
void cross_entropy(OpContext& op, const Tensor& logits, const std::int32_t* targets, float* losses,
                   const Tensor& d_logits = {}, float scale = 1.0f);

/// Numbers of CrossEntropyStats a row.
inline constexpr std::int64_t numbers_of_stats = 3;

/// The first half alone, of all parts: `stats` gets [parts, 3, n] on every rank.
void cross_entropy_stats(OpContext& op, const Tensor& logits, const std::int32_t* targets, float* stats);

}  // namespace octet
