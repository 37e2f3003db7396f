#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// These functions go from this rank's rows of the tokens to all tokens and back. Without tensor parallelism all of
/// them hand back what they got: nothing is copied or taken.

/// The rows of all parts end to end, [parts · rows, columns], in scratch.
Tensor gather_rows(OpContext& op, const Tensor& local);

/// What is done with some of the rows of all tokens.
using RowsWork = std::function<void(std::int64_t first, std::int64_t count)>;

/// Says where the rows of all parts are gathered: around `local`, which then lies in its place, or in scratch.
Exchange::Gather gather_of(OpContext& op, const Tensor& local, bool around);

void gather_rows(OpContext& op, const Exchange::Gather& gather);

/// Gathers; `work` may read the rows that it is given: once all, or each part as it comes (Exchange::pipelined).
void gather_rows(OpContext& op, std::span<const Exchange::Gather> gathers, const RowsWork& work);

/// output = this rank's rows of the sum of all partials, of which `work` writes the rows that it is given: once all, or
/// each part before it leaves. Without tensor parallelism `partial` is `output`.
void sum_rows(OpContext& op, const Tensor& partial, const Tensor& output, const RowsWork& work);

/// The place where a partial sum of `output` over all tokens is to be written, [parts · rows, columns]: scratch, or
/// `output`.
Tensor partial_of(OpContext& op, const Tensor& output);

/// output = this rank's rows of the sum of all partials.
void scatter_rows(OpContext& op, const Tensor& partial, const Tensor& output);

}  // namespace octet
