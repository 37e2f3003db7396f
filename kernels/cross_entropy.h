#pragma once

#include <cstdint>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// Token losses of a chunk of rows and, when asked, the gradient of the logits:
///   loss[i] = logsumexp(logits[i]) - logits[i, target[i]];   d_logits = (softmax(logits) - onehot(target)) · scale.
/// Rows whose target is negative are not counted: loss and gradient are zero. Moves logits and d_logits.
struct CrossEntropy {
  const float* logits = nullptr;          ///< [rows, vocab]
  const std::int32_t* targets = nullptr;  ///< [rows]
  float* losses = nullptr;                ///< [rows], natural log
  void* d_logits = nullptr;               ///< [rows, vocab] or null; may be logits when f32
  DType d_dtype = DType::f32;             ///< f32 or bf16
  std::int64_t rows = 0;
  std::int64_t vocab = 0;
  float scale = 1.0f;  ///< 1 / valid tokens of the global batch
};

}  // namespace octet
