#pragma once

#include "src/ops/context.h"

namespace octet {

/// Cross-entropy (natural log) of logits whose columns are this rank's part of the vocabulary; args.vocab is the length
/// of the part, the same on every rank (the run is refused where parallel.tp does not divide the vocabulary). The ranks
/// exchange three numbers a row (maximum, sum of exponentials, the target's logit), each computes the same losses, and
/// the gradient of its own columns. Arguments and result as kernels/cross_entropy.h.
void cross_entropy(OpContext& context, const CrossEntropy& args);

}  // namespace octet
