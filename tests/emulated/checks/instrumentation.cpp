// What gcc calls at each access of code that is compiled with -fsanitize=thread, with our own checks in place of the
// library that it is made for.
#include <cstddef>
#include <cstdint>

#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/checks/device_places.h"
#include "tests/emulated/checks/touched_bytes.h"

namespace octet::emulated {
namespace {

[[gnu::always_inline]] inline bool is_checked(std::uintptr_t at, const Watched* me) {
  return me != nullptr && me->stack_top - at > stack_bytes;
}
[[gnu::always_inline]] inline void reach(const volatile void* p, std::size_t size, Access access, const void* from) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  if (Watched* const me = watched; is_checked(at, me)) check_access(at, size, access, *me, from);
}

/// Most accesses are of whole words that nobody else has reached since the block's last barrier: those are remembered
/// here. False for any other.
template <unsigned size, bool writes, bool shared>
[[gnu::always_inline]] inline bool remember(Shadow* word, const Watched& me) {
  using Bits = TouchedBits;
  const WatchedBlock& block = *me.block;
  const std::uint64_t run = block.run, epoch = std::uint64_t{block.epoch} << 32 | run, now = me.now;
  const auto is_past = [&](std::uint64_t by) {
    const std::uint64_t of = by & Bits::of_run;
    if (of == run) return (by & Bits::of_time) < epoch && (by & Bits::blocks) == 0;
    return shared || of < block.first_run;
  };
  for (unsigned i = 0; i < size / Shadow::word; ++i, ++word) {
    const std::uint64_t wrote = __atomic_load_n(&word->write, __ATOMIC_RELAXED);
    const std::uint64_t read = __atomic_load_n(&word->read, __ATOMIC_RELAXED);
    if (wrote != now && !is_past(wrote)) return false;
    if (writes) {
      if (read != now && !is_past(read)) return false;
      if (wrote != now) __atomic_store_n(&word->write, now, __ATOMIC_RELAXED);
      continue;
    }
    if (read == now) continue;
    if (is_past(read)) {
      __atomic_store_n(&word->read, now, __ATOMIC_RELAXED);
      continue;
    }
    // Many have read it: one more changes nothing.
    const bool here = (read & Bits::of_run) == run && (read & Bits::of_bytes) == Bits::of_bytes;
    const std::uint64_t differs = read ^ now;
    if (here && ((read & Bits::warps) != 0 ||
                 ((read & Bits::lanes) != 0 && (differs & (Bits::of_time | Bits::of_warp)) == 0))) {
      continue;
    }
    return false;
  }
  return true;
}
template <unsigned size, bool writes>
[[gnu::always_inline]] inline void reach_words(const void* p, const void* from) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  Watched* const me = watched;
  if (!is_checked(at, me)) return;
  const WatchedBlock& block = *me->block;
  if (at % Shadow::word == 0 && !block.too_long) {
    if (Places::holds(at)) {
      if (Places::are_taken(at, size) && remember<size, writes, false>(Shadow::of_device(at), *me)) {
        TouchedBytes::add(at, size, writes);
        return;
      }
    } else if (!writes || block.read_by_others == nullptr) {
      Shadow* const word = block.shadow(at, size);
      if (word != nullptr && remember<size, writes, true>(word, *me)) return;
    }
  }
  check_access(at, size, writes ? Access::write : Access::read, *me, from);
}

constexpr bool releases(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}
constexpr bool acquires(int order) {
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}
/// `exchange` does the atomic, and returns whether it wrote.
template <typename F>
void exchanged(const volatile void* p, std::size_t size, int order, const void* from, const F& exchange) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  Watched* const me = watched;
  if (!is_checked(at, me)) {
    exchange();
    return;
  }
  check_access(at, size, Access::atomic, *me, from);
  synchronize(at, releases(order), acquires(order), *me, exchange);
}
template <typename T, typename F>
T changed(volatile T* p, int order, const void* from, const F& change) {
  T before{};
  exchanged(p, sizeof(T), order, from, [&] {
    before = change();
    return true;
  });
  return before;
}
template <typename T>
bool compared(volatile T* p, T* expected, T value, int order, const void* from) {
  bool done = false;
  exchanged(p, sizeof(T), order, from, [&] {
    return done = __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  });
  return done;
}

}  // namespace
}  // namespace octet::emulated

using octet::emulated::Access, octet::emulated::reach, octet::emulated::reach_words;

// clang-format off
#define FROM __builtin_return_address(0)
#define ACCESSES(size) \
  void __tsan_unaligned_read##size(void* p) { reach(p, size, Access::read, FROM); } \
  void __tsan_unaligned_write##size(void* p) { reach(p, size, Access::write, FROM); } \
  void __tsan_volatile_read##size(void* p) { reach(p, size, Access::atomic_read, FROM); } \
  void __tsan_volatile_write##size(void* p) { reach(p, size, Access::atomic, FROM); } \
  void __tsan_unaligned_volatile_read##size(void* p) { reach(p, size, Access::atomic_read, FROM); } \
  void __tsan_unaligned_volatile_write##size(void* p) { reach(p, size, Access::atomic, FROM); }

#define CHANGE(T, bits, name) \
  T __tsan_atomic##bits##_##name(volatile T* p, T value, int order) { \
    return octet::emulated::changed(p, order, FROM, [&] { return __atomic_##name(p, value, __ATOMIC_SEQ_CST); }); \
  }
#define ATOMICS(T, bits) \
  T __tsan_atomic##bits##_load(const volatile T* p, int) { \
    reach(p, sizeof(T), Access::atomic_read, FROM); \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST); \
  } \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int order) { \
    octet::emulated::changed(p, order, FROM, [&] { return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST); }); \
  } \
  T __tsan_atomic##bits##_exchange(volatile T* p, T value, int order) { \
    return octet::emulated::changed(p, order, FROM, [&] { return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST); }); \
  } \
  CHANGE(T, bits, fetch_add) \
  CHANGE(T, bits, fetch_sub) \
  CHANGE(T, bits, fetch_and) \
  CHANGE(T, bits, fetch_or) \
  CHANGE(T, bits, fetch_xor) \
  bool __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T value, int order, int) { \
    return octet::emulated::compared(p, expected, value, order, FROM); \
  } \
  bool __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T value, int order, int) { \
    return octet::emulated::compared(p, expected, value, order, FROM); \
  } \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int order, int) { \
    octet::emulated::compared(p, &expected, value, order, FROM); \
    return expected; \
  }

extern "C" {

void __tsan_read1(void* p) { reach(p, 1, Access::read, FROM); }
void __tsan_write1(void* p) { reach(p, 1, Access::write, FROM); }
void __tsan_read2(void* p) { reach(p, 2, Access::read, FROM); }
void __tsan_write2(void* p) { reach(p, 2, Access::write, FROM); }
void __tsan_read4(void* p) { reach_words<4, false>(p, FROM); }
void __tsan_write4(void* p) { reach_words<4, true>(p, FROM); }
void __tsan_read8(void* p) { reach_words<8, false>(p, FROM); }
void __tsan_write8(void* p) { reach_words<8, true>(p, FROM); }
void __tsan_read16(void* p) { reach_words<16, false>(p, FROM); }
void __tsan_write16(void* p) { reach_words<16, true>(p, FROM); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __tsan_read_range(void* p, std::size_t size) { reach(p, size, Access::read, FROM); }
void __tsan_write_range(void* p, std::size_t size) { reach(p, size, Access::write, FROM); }

ATOMICS(std::uint8_t, 8)
ATOMICS(std::uint16_t, 16)
ATOMICS(std::uint32_t, 32)
ATOMICS(std::uint64_t, 64)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

void __tsan_init() { octet::emulated::accesses_are_checked = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

}
// clang-format on
