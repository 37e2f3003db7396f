#pragma once

#include <cstdint>

#include "src/base/round_up.h"
#include "src/device/buffer.h"
#include "src/model/config.h"
#include "src/tensor/tensor.h"

namespace octet {

/// Keys (after RoPE) and values of the tokens that a model has seen of a text, of this rank's heads, for each block.
/// A pass writes those of its tokens and reads all that its queries see.
class KeyValueCache {
 public:
  /// `part`: what this rank computes with. `rows`: tokens that fit.
  KeyValueCache(Device& device, const ModelConfig& part, DType storage, std::int64_t rows)
      : rows_(rows),
        of_tensor_(padded(rows * part.kv_dim() * size_of(storage))),
        storage_(storage),
        columns_(part.kv_dim()),
        buffer_(device, 2 * part.layers * of_tensor_, Purpose::activations) {}

  std::int64_t rows() const { return rows_; }
  /// [rows, kv_heads · head_dim]
  Tensor keys(std::int64_t layer) const { return tensor(2 * layer); }
  Tensor values(std::int64_t layer) const { return tensor(2 * layer + 1); }

 private:
  static std::int64_t padded(std::int64_t bytes) { return round_up(bytes, 256); }
  Tensor tensor(std::int64_t number) const {
    auto* begin = static_cast<char*>(buffer_.data());
    return {begin == nullptr ? nullptr : begin + number * of_tensor_, storage_, {rows_, columns_}, nullptr};
  }

  std::int64_t rows_, of_tensor_;
  DType storage_;
  std::int64_t columns_;
  Buffer buffer_;
};

/// What a pass with a cache is told of its tokens, beside their ids; arrays are on the device.
struct CachedTokens {
  const KeyValueCache* cache = nullptr;  ///< null: a pass without one
  std::int64_t tokens = 0;               ///< tokens of the pass: at most a micro-batch's, a multiple of the tp parts
  std::int64_t first = 0;                ///< the cache's row of the first token's key; the others' follow
  const std::int32_t* spans = nullptr;   ///< [tokens, 4]: the rows that each of them sees, as SpanAttention::spans
  std::int64_t longest = 0;              ///< none sees more
};

}  // namespace octet
