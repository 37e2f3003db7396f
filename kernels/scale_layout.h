#pragma once

#include <cstdint>

#include "src/base/round_up.h"
#include "src/base/scale_form.h"

namespace octet {

/// The alignment in bytes at which the inverse scales of a GEMM's operand begin, be they one for the tensor or one for
/// each row. cuBLASLt refuses other addresses when it launches, with CUBLAS_STATUS_NOT_SUPPORTED. Its documentation
/// does not say so: it was seen on an H100 (docs/gpu-results/h100-2026-11-22.md), and PyTorch's pull request 159957 and
/// TransformerEngine's 1925 fix it there. The GEMMs of both devices refuse them, so that a run without a GPU finds them
/// too.
constexpr std::int64_t gemm_scale_alignment = 16;

/// Floats from one tensor's inverse scale to the next one's, where those of several tensors stand side by side.
constexpr std::int64_t inverse_scale_stride = gemm_scale_alignment / static_cast<std::int64_t>(sizeof(float));

/// Values along the contracted dimension, and for blocks along the other one too, that share a scale.
constexpr std::int64_t scale_block = 128;

constexpr std::int64_t scale_blocks(std::int64_t extent) {
  return ceil_div(extent, scale_block);
}
/// The distance from the scales of a block of the kept dimension to those of the next: a whole multiple of 4 floats.
constexpr std::int64_t block_scale_stride(std::int64_t contracted) {
  return round_up(scale_blocks(contracted), 4);
}

/// Floats of the inverse scales of a matrix of which a GEMM keeps `kept` indices and contracts `contracted`, in the
/// order that cuBLASLt reads, whether the matrix is stored with one or the other contiguous. With L blocks of the
/// contracted dimension, the kept index is the fast one of L x kept `vectors`; of `blocks` the contracted one is,
/// padded to a multiple of 4. "Scaling factors layouts" of CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F ("M-major") and
/// _BLK128x128_32F ("K-major, the stride between consecutive columns must be a multiple of 4"):
/// https://docs.nvidia.com/cuda/cublas/#scaling-factors-layouts, and PyTorch's pull request 166752, where scales that
/// were not padded gave wrong sums in silence.
constexpr std::int64_t scale_count(ScaleForm form, std::int64_t kept, std::int64_t contracted) {
  switch (form) {
    case ScaleForm::tensor:
      return 1;
    case ScaleForm::each:
      return kept;
    case ScaleForm::vectors:
      return kept * scale_blocks(contracted);
    case ScaleForm::blocks:
      return scale_blocks(kept) * block_scale_stride(contracted);
  }
  return 0;
}

/// The index of the scale of the value at i of the kept and j of the contracted dimension.
constexpr std::int64_t scale_index(ScaleForm form, std::int64_t kept, std::int64_t contracted, std::int64_t i,
                                   std::int64_t j) {
  switch (form) {
    case ScaleForm::tensor:
      return 0;
    case ScaleForm::each:
      return i;
    case ScaleForm::vectors:
      return j / scale_block * kept + i;
    case ScaleForm::blocks:
      return i / scale_block * block_scale_stride(contracted) + j / scale_block;
  }
  return 0;
}

}  // namespace octet
