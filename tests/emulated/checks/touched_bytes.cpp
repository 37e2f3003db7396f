#include "tests/emulated/checks/touched_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace octet::emulated {
namespace {

using Ranges = std::vector<TouchedBytes::Range>;

void append(Ranges& to, std::uintptr_t begin, std::uintptr_t end) {
  if (!to.empty() && to.back().second == begin) {
    to.back().second = end;
  } else {
    to.emplace_back(begin, end);
  }
}

/// The ranges of a page's bits, which are then zero.
void take_page(std::uint8_t* bits, std::uintptr_t first, Ranges& to) {
  constexpr unsigned of_word = 64;
  for (std::uintptr_t at = 0; at < Places::page; at += of_word, bits += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits, sizeof word);
    if (word == 0) continue;
    std::memset(bits, 0, sizeof word);
    for (unsigned begin = 0; begin < of_word;) {
      begin += static_cast<unsigned>(std::countr_zero(word >> begin));
      const auto length = static_cast<unsigned>(std::countr_one(word >> begin));
      append(to, first + at + begin, first + at + begin + length);
      begin += length;
      if (begin >= of_word || word >> begin == 0) break;
    }
  }
}

}  // namespace

TouchedBytes& TouchedBytes::get() {
  static auto* all = new TouchedBytes;
  return *all;
}

TouchedBytes::TouchedBytes() {
  for (const bool written : {false, true}) reserve_addresses(bits(written), Places::bytes / 8);
  reserve_addresses(of_page(0), Places::bytes / Places::page);
}

void TouchedBytes::add_each(std::uintptr_t place, std::size_t size, bool writes) {
  while (size > 0) {
    const std::uintptr_t within = place % 8, here = std::min<std::uintptr_t>(size, 8 - within);
    set(bits(writes) + place / 8, static_cast<std::uint8_t>(((1u << here) - 1) << within), place);
    place += here;
    size -= here;
  }
}

void TouchedBytes::begin_page(std::uintptr_t place) {
  const std::scoped_lock lock(mutex_);
  if (*of_page(place) != 0) return;
  pages_.push_back(place / Places::page * Places::page);
  __atomic_store_n(of_page(place), 1, __ATOMIC_RELAXED);
}

TouchedBytes::Ranges TouchedBytes::take() {
  const std::scoped_lock lock(mutex_);
  std::sort(pages_.begin(), pages_.end());
  Ranges touched;
  for (const std::uintptr_t place : pages_) {
    take_page(bits(false) + place / 8, Places::begin + place, touched.read);
    take_page(bits(true) + place / 8, Places::begin + place, touched.written);
    *of_page(place) = 0;
  }
  pages_.clear();
  return touched;
}

}  // namespace octet::emulated
