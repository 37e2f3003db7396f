#pragma once

#include <bit>
#include <cstdint>

namespace octet::emulated {

/// Who reached a word of 4 bytes last.
struct Touched {
  std::uint64_t run : 32 = 0;    ///< the block, numbered through all launches from 1 on; 0: nobody
  std::uint64_t stamp : 15 = 0;  ///< when: that of its thread (watched.h); of several, the latest
  std::uint64_t thread : 10 = 0;
  std::uint64_t bytes : 4 = 0;  ///< of the word, a bit each
  /// Of reads: other lanes of the warp read it too, with nothing between. Of writes: it was an atomic.
  std::uint64_t lanes_or_atomic : 1 = 0;
  /// Of reads: other warps of the block. Of atomics: who has done them, together with the next bit (Adders).
  std::uint64_t warps_or_several : 1 = 0;
  /// Of reads: other blocks. Of atomics: see above. Of other writes: a copy that its thread has not waited for.
  std::uint64_t blocks_or_pending : 1 = 0;

  bool operator==(const Touched&) const = default;
};
static_assert(sizeof(Touched) == 8);

/// Who changed a word by atomics, with nothing between them.
enum class Adders : std::uint8_t { one, lanes, warps, blocks };
inline Adders adders(const Touched& write) {
  if (write.lanes_or_atomic == 0) return Adders::one;
  if (write.warps_or_several != 0) return write.blocks_or_pending != 0 ? Adders::blocks : Adders::warps;
  return write.blocks_or_pending != 0 ? Adders::lanes : Adders::one;
}
inline void set_adders(Touched& write, Adders of) {
  write.lanes_or_atomic = 1;
  write.warps_or_several = of == Adders::warps || of == Adders::blocks ? 1 : 0;
  write.blocks_or_pending = of == Adders::lanes || of == Adders::blocks ? 1 : 0;
}
inline bool is_pending(const Touched& write) {
  return write.lanes_or_atomic == 0 && write.blocks_or_pending != 0;
}

/// What is remembered of each word of shared memory and of device memory. Blocks run at once, so it is loaded and
/// stored as a whole; where two of them do so at once, one of their accesses may be forgotten.
struct Shadow {
  static constexpr std::uintptr_t word = 4;  ///< bytes

  std::uint64_t write, read;

  /// That of an address of device memory.
  static Shadow* of_device(std::uintptr_t at) {
    constexpr std::uintptr_t first_place = 0x1000'0000'0000, first = 0x2000'0000'0000;
    return reinterpret_cast<Shadow*>(first) + (at - first_place) / word;
  }
};

/// Parts of a Touched as a number.
struct TouchedBits {
  static constexpr std::uint64_t of_run = ~0u, of_time = (std::uint64_t{1} << 47) - 1;  ///< run; run and stamp
  static constexpr std::uint64_t of_warp = std::uint64_t{31} << 52, of_bytes = std::uint64_t{15} << 57;
  static constexpr std::uint64_t lanes = std::uint64_t{1} << 61, warps = lanes << 1, blocks = lanes << 2;
};

inline Touched load(const std::uint64_t& from) {
  return std::bit_cast<Touched>(__atomic_load_n(&from, __ATOMIC_RELAXED));
}
inline void store(std::uint64_t& to, Touched value) {
  __atomic_store_n(&to, std::bit_cast<std::uint64_t>(value), __ATOMIC_RELAXED);
}

}  // namespace octet::emulated
