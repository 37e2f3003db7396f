#pragma once

#include <cstdint>

namespace octet {

/// Bytes on which the inverse scales of a GEMM's operand begin, be they one for the tensor or one for each row.
/// cuBLASLt refuses other addresses when it launches, with CUBLAS_STATUS_NOT_SUPPORTED. Its documentation does not say
/// so: it was seen on an H100 (docs/gpu-results.md), and is what PyTorch's pull request 159957 and TransformerEngine's
/// 1925 mend. The GEMMs of both devices refuse them, so that a run without a GPU finds them too.
constexpr std::int64_t gemm_scale_alignment = 16;

/// Floats from one tensor's inverse scale to the next one's, where those of several tensors stand side by side.
constexpr std::int64_t inverse_scale_stride = gemm_scale_alignment / static_cast<std::int64_t>(sizeof(float));

}  // namespace octet
