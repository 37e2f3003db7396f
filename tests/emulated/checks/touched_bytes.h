#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/emulated/checks/device_places.h"

namespace octet::emulated {

/// The bytes of device memory and pinned memory that the launch which runs has read and written: a bit each, in ranges
/// of addresses that cost memory only where they are touched.
class TouchedBytes {
 public:
  using Range = std::pair<std::uintptr_t, std::uintptr_t>;  ///< from the first byte to behind the last
  struct Ranges {
    std::vector<Range> read, written;
  };
  static TouchedBytes& get();

  /// `at`: of an address that Places holds, all of one allocation. Of any thread.
  [[gnu::always_inline]] static void add(std::uintptr_t at, std::size_t size, bool writes) {
    const std::uintptr_t place = at - Places::begin;
    if (size <= 8 && place % 8 + size <= 8) {
      set(bits(writes) + place / 8, static_cast<std::uint8_t>(((1u << size) - 1) << place % 8), place);
    } else {
      add_each(place, size, writes);
    }
  }
  /// What was touched since the last time; then nothing is.
  Ranges take();
  void forget() { take(); }

 private:
  TouchedBytes();
  static std::uint8_t* bits(bool written) {
    return reinterpret_cast<std::uint8_t*>(written ? 0x5000'0000'0000 : 0x4000'0000'0000);
  }
  static std::uint8_t* of_page(std::uintptr_t place) {
    return reinterpret_cast<std::uint8_t*>(0x6000'0000'0000) + place / Places::page;
  }
  [[gnu::always_inline]] static void set(std::uint8_t* byte, std::uint8_t mask, std::uintptr_t place) {
    if ((__atomic_load_n(byte, __ATOMIC_RELAXED) & mask) == mask) return;
    if (__atomic_load_n(of_page(place), __ATOMIC_RELAXED) == 0) get().begin_page(place);
    __atomic_fetch_or(byte, mask, __ATOMIC_RELAXED);
  }
  static void add_each(std::uintptr_t place, std::size_t size, bool writes);
  void begin_page(std::uintptr_t place);

  std::mutex mutex_;
  std::vector<std::uintptr_t> pages_;  ///< their first places
};

}  // namespace octet::emulated
