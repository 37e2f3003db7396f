#pragma once

#include <cstdint>

#include "kernels/table.h"

namespace octet {

/// The least that a kernel must read and write, by the formulas of its header: each operand once, without workspaces.
/// Numbers of a tensor as a whole (scales, statistics, counters) are left out where the tensor is there too.
std::int64_t bytes_moved(const Stats&);
std::int64_t bytes_moved(const ComputeScales&);
std::int64_t bytes_moved(const RecordAmax&);
std::int64_t bytes_moved(const DelayedScales&);
std::int64_t bytes_moved(const CastToFloat8&);
std::int64_t bytes_moved(const TransposeFloat8&);
std::int64_t bytes_moved(const Convert&);
std::int64_t bytes_moved(const QuantizeRowwise&);
std::int64_t bytes_moved(const Gemm&);
std::int64_t bytes_moved(const EmbeddingForward&);
std::int64_t bytes_moved(const EmbeddingBackward&);
std::int64_t bytes_moved(const AddRmsNormForward&);
std::int64_t bytes_moved(const RmsNormBackward&);
std::int64_t bytes_moved(const Rope&);
std::int64_t bytes_moved(const AttentionForward&);
std::int64_t bytes_moved(const AttentionBackward&);
std::int64_t bytes_moved(const SwigluForward&);
std::int64_t bytes_moved(const SwigluBackward&);
std::int64_t bytes_moved(const CrossEntropy&);
std::int64_t bytes_moved(const CrossEntropyStats&);
std::int64_t bytes_moved(const CrossEntropyFinish&);
std::int64_t bytes_moved(const AdamWUpdate&);
std::int64_t bytes_moved(const Sum&);
std::int64_t bytes_moved(const SumOfSquares&);
std::int64_t bytes_moved(const Accumulate&);
std::int64_t bytes_moved(const SumParts&);
std::int64_t bytes_moved(const ClipFactor&);

}  // namespace octet
