#pragma once

#include "src/ops/context.h"

namespace octet {

/// Cross-entropy (natural log) of logits whose columns are this rank's part of the vocabulary; args.vocab is the length
/// of the part, the same on every rank (the run is refused where parallel.tp does not divide the vocabulary). The ranks
/// exchange three numbers a row (maximum, sum of exponentials, the target's logit), each computes the same losses, and
/// the gradient of its own columns. Arguments and result as kernels/cross_entropy.h.
void cross_entropy(OpContext& context, const CrossEntropy& args);

/// Numbers of CrossEntropyStats a row.
inline constexpr std::int64_t numbers_of_stats = 3;

/// The first half alone, of all parts: args.stats gets [parts, 3, rows] on every rank. args.vocab_begin is filled in.
void cross_entropy_stats(OpContext& context, const CrossEntropyStats& args);

}  // namespace octet
