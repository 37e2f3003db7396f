#pragma once

#include <cstdint>

#include "src/base/dtype.h"
#include "src/device/device.h"

namespace octet {

/// out[i, :] = table[tokens[i] - vocab_begin, :]: the table may hold a part of the vocabulary, the rows of the ids
/// [vocab_begin, vocab_begin + vocab); a token of another id gives a row of zeros. Tokens are checked before they reach
/// the device.
struct EmbeddingForward {
  const std::int32_t* tokens = nullptr;  ///< [n]
  const void* table = nullptr;           ///< [vocab, dim]
  void* out = nullptr;                   ///< [n, dim]
  DType dtype = DType::bf16;             ///< of table and out
  std::int64_t n = 0;
  std::int64_t vocab = 0;  ///< rows of the table
  std::int64_t dim = 0;
  std::int64_t vocab_begin = 0;

  std::int64_t bytes_moved() const { return n * (2 * dim * size_of(dtype) + 4); }
  bool operator==(const EmbeddingForward&) const = default;
};

/// d_table[tokens[i] - vocab_begin, :] += d_out[i, :] in the order of i, for any threads; nothing for a token whose row
/// the table does not hold.
struct EmbeddingBackward {
  const std::int32_t* tokens = nullptr;  ///< [n]
  const void* d_out = nullptr;           ///< [n, dim]
  DType dtype = DType::bf16;             ///< of d_out
  float* d_table = nullptr;              ///< [vocab, dim]
  bool accumulate = false;               ///< false: d_table is zeroed first, which moves all of it
  std::int64_t n = 0;
  std::int64_t vocab = 0;  ///< rows of d_table
  std::int64_t dim = 0;
  std::int64_t vocab_begin = 0;
  void* workspace = nullptr;  ///< KernelTable::embedding_backward_workspace bytes

  std::int64_t bytes_moved() const { return n * (dim * (size_of(dtype) + 8) + 4) + (accumulate ? 0 : vocab * dim * 4); }
  bool operator==(const EmbeddingBackward&) const = default;
};

}  // namespace octet
