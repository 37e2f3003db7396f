#pragma once

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// Between this rank's rows of the tokens and all tokens. Without tensor parallelism all of these hand back what they
/// got: nothing is copied or taken.

/// The rows of all parts end to end, [parts · rows, columns], in scratch.
Tensor gather_rows(OpContext& context, const Tensor& local);

/// The same, where `local` already lies in its place of the whole.
Tensor gather_around(OpContext& context, const Tensor& local);

/// This rank's place in a tensor of all tokens.
Tensor own_rows(const OpContext& context, const Tensor& whole);

/// Where a partial sum of `output` over all tokens is to be written, [parts · rows, columns]: scratch, or `output`.
Tensor partial_of(OpContext& context, const Tensor& output);

/// output = this rank's rows of the sum of all partials.
void scatter_rows(OpContext& context, const Tensor& partial, const Tensor& output);

}  // namespace octet
