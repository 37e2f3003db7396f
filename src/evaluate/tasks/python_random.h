#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace octet {

/// Python's random.Random(seed), for lm-eval-harness draws examples with it. One thread.
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed);

  /// random.sample(range(size), count), as in CPython 3.11 to 3.13: which of `size` elements, in the order in which
  /// they come. count <= size < 2^32.
  std::vector<std::size_t> sample(std::size_t size, std::size_t count);

 private:
  std::size_t below(std::size_t bound);

  std::mt19937 twister_;
};

}  // namespace octet
