#pragma once

#include <cstdint>

#include "src/base/random.h"

namespace octet {

/// A pseudo-random bijection of [0, size) in O(1) memory: an alternating Feistel network with Philox as its round
/// function over the smallest power of two that holds `size`, and cycle walking (values that fall outside are sent
/// through again; fewer than two passes on average). J. Black and P. Rogaway, "Ciphers with arbitrary finite
/// domains", CT-RSA 2002.
class Permutation {
 public:
  /// size >= 1. The same key and size are the same permutation everywhere and for ever: data order depends on it.
  Permutation(const RandomKey& key, std::uint64_t size);

  std::uint64_t size() const { return size_; }
  /// index < size().
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t pass(std::uint64_t value) const;

  RandomKey key_;
  std::uint64_t size_;
  int high_bits_;
  int low_bits_;
};

}  // namespace octet
