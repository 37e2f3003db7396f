#pragma once

#include <cstdint>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// Token losses of a chunk of rows and, when asked, the gradient of the logits:
///   loss[i] = logsumexp(logits[i]) - logits[i, target[i]];   d_logits = (softmax(logits) - onehot(target)) · scale.
/// Rows whose target is negative are not counted: loss and gradient are zero.
struct CrossEntropy {
  const float* logits = nullptr;          ///< [rows, vocab]
  const std::int32_t* targets = nullptr;  ///< [rows]
  float* losses = nullptr;                ///< [rows], natural log
  void* d_logits = nullptr;               ///< [rows, vocab] or null; may be logits when f32
  DType d_dtype = DType::f32;             ///< f32 or bf16
  std::int64_t rows = 0;
  std::int64_t vocab = 0;
  float scale = 1.0f;  ///< 1 / valid tokens of the global batch

  std::int64_t bytes_moved() const { return rows * (vocab * (4 + (d_logits == nullptr ? 0 : size_of(d_dtype))) + 8); }
  bool operator==(const CrossEntropy&) const = default;
};

/// The same in two halves for logits whose columns lie in parts, each with the ids [vocab_begin, vocab_begin + vocab);
/// between them the parts exchange three numbers a row. First, of one part (which may be empty):
///   stats[0, i] = m = max of logits[i];   stats[1, i] = Σ exp(logits[i] - m);   stats[2, i] = logits[i, target[i]],
/// 0 where the part does not hold the target. Rows with a negative target: zeros. A NaN makes stats[1] NaN and leaves
/// the maximum alone; of an empty part, or one of -inf throughout, stats are {-inf, 0}. Reads logits.
struct CrossEntropyStats {
  const float* logits = nullptr;          ///< [rows, vocab]
  const std::int32_t* targets = nullptr;  ///< [rows], ids of the whole vocabulary
  std::int64_t vocab_begin = 0;
  std::int64_t rows = 0;
  std::int64_t vocab = 0;  ///< columns of this part
  float* stats = nullptr;  ///< [3, rows]

  std::int64_t bytes_moved() const { return rows * (vocab * 4 + 16); }
  bool operator==(const CrossEntropyStats&) const = default;
};

/// Then, from the stats of all parts in their order, losses (the same for every part) and this part's gradient:
///   M = max m_p;   S = Σ s_p · exp(m_p - M);   loss = M + log S - Σ target_p;
///   d_logits = (exp(logits - M) / S - onehot(target)) · scale.
/// One part gives the bits of CrossEntropy. Without d_logits, the logits are not read.
struct CrossEntropyFinish {
  const float* logits = nullptr;          ///< [rows, vocab]
  const std::int32_t* targets = nullptr;  ///< [rows], ids of the whole vocabulary
  std::int64_t vocab_begin = 0;
  std::int64_t rows = 0;
  std::int64_t vocab = 0;        ///< columns of this part
  const float* stats = nullptr;  ///< [parts, 3, rows]
  int parts = 1;
  float* losses = nullptr;     ///< [rows], natural log
  void* d_logits = nullptr;    ///< [rows, vocab] or null; may be logits when f32
  DType d_dtype = DType::f32;  ///< f32 or bf16
  float scale = 1.0f;          ///< 1 / valid tokens of the global batch

  std::int64_t bytes_moved() const {
    return rows * ((d_logits == nullptr ? 0 : vocab * (4 + size_of(d_dtype))) + parts * 12 + 8);
  }
  bool operator==(const CrossEntropyFinish&) const = default;
};

}  // namespace octet
