#include "src/evaluate/tasks/python_random.h"

#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace octet {
namespace {

/// The state that CPython's random.seed(key) makes: init_by_array of Matsumoto and Nishimura (mt19937ar.c) with one
/// word, in the form in which the standard library asks for a seed.
class SeedByArray {
 public:
  using result_type = std::uint_least32_t;
  explicit SeedByArray(std::uint32_t key) : key_(key) {}

  template <typename Iterator>
  void generate(Iterator begin, Iterator end) {
    constexpr std::size_t size = std::mt19937::state_size;
    std::array<std::uint32_t, size> state{};
    state[0] = 19650218;
    const auto mixed = [&](std::size_t i) { return state[i - 1] ^ (state[i - 1] >> 30); };
    for (std::size_t i = 1; i < size; ++i) state[i] = 1812433253u * mixed(i) + static_cast<std::uint32_t>(i);
    std::size_t i = 1;
    const auto step = [&] {
      if (++i < size) return;
      state[0] = state[size - 1];
      i = 1;
    };
    for (std::size_t n = 0; n < size; ++n, step()) state[i] = (state[i] ^ mixed(i) * 1664525u) + key_;
    for (std::size_t n = 1; n < size; ++n, step()) {
      state[i] = (state[i] ^ mixed(i) * 1566083941u) - static_cast<std::uint32_t>(i);
    }
    state[0] = 0x80000000u;
    for (std::size_t n = 0; begin != end; ++begin, ++n) *begin = state[n];
  }

 private:
  std::uint32_t key_;
};

std::mt19937 seeded(std::uint32_t seed) {
  SeedByArray sequence(seed);
  return std::mt19937(sequence);
}

/// Up to how many elements random.sample draws from a list instead of remembering what it has drawn.
std::size_t most_of_a_pool(std::size_t count) {
  if (count <= 5) return 21;
  const double exponent = std::ceil(std::log(static_cast<double>(3 * count)) / std::log(4.0));
  return 21 + static_cast<std::size_t>(std::pow(4.0, exponent));
}

}  // namespace

PythonRandom::PythonRandom(std::uint32_t seed) : twister_(seeded(seed)) {}

std::size_t PythonRandom::below(std::size_t bound) {
  const int bits = std::bit_width(bound);
  for (;;) {
    const std::size_t drawn = twister_() >> (32 - bits);
    if (drawn < bound) return drawn;
  }
}

std::vector<std::size_t> PythonRandom::sample(std::size_t size, std::size_t count) {
  std::vector<std::size_t> out;
  if (size <= most_of_a_pool(count)) {
    std::vector<std::size_t> pool(size);
    std::iota(pool.begin(), pool.end(), std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t drawn = below(size - i);
      out.push_back(std::exchange(pool[drawn], pool[size - i - 1]));
    }
    return out;
  }
  std::unordered_set<std::size_t> taken;
  while (out.size() < count) {
    const std::size_t drawn = below(size);
    if (taken.insert(drawn).second) out.push_back(drawn);
  }
  return out;
}

}  // namespace octet
