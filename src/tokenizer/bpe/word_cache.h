#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace octet {

/// Remembers the ids of short words that were met lately: few words make up most of a text. It has 2 MiB of entries,
/// each as large as a cache line of the processor. A word replaces another one with the same hash. It belongs to one
/// thread.
class WordCache {
 public:
  static constexpr std::size_t most_bytes = 31;
  static constexpr std::size_t most_ids = 7;

  struct alignas(64) Entry {
    std::array<std::uint64_t, 4> key{};  ///< the bytes of the word, zeros, and in the last byte its length
    std::array<std::int32_t, most_ids> ids{};
    std::int32_t count = 0;
  };

  WordCache() : entries_(std::size_t{1} << bits) {}

  /// The entry for a word of 1 to most_bytes bytes, of which `readable` bytes may be read. `key` gets the word's key:
  /// an entry with that key holds the ids of the word; otherwise the caller puts them there, with the key.
  Entry& at(std::string_view word, std::size_t readable, std::array<std::uint64_t, 4>& key) {
    key = key_of(word, readable);
    std::uint64_t mixed = (key[0] ^ key[2] * 0xC2B2AE3D27D4EB4Fu) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 32;
    mixed = (mixed ^ key[1] ^ key[3]) * 0x9E3779B97F4A7C15u;
    return entries_[mixed >> (64 - bits)];
  }

 private:
  static constexpr int bits = 15;

  static std::array<std::uint64_t, 4> key_of(std::string_view word, std::size_t readable) {
    std::array<std::uint64_t, 4> key{};
    if (readable >= sizeof key) {
      std::memcpy(key.data(), word.data(), sizeof key);
      std::array<std::uint64_t, 4> mask;
      std::memcpy(mask.data(), masks.data() + sizeof key - word.size(), sizeof mask);
      for (std::size_t i = 0; i < 4; ++i) key[i] &= mask[i];
    } else {
      std::memcpy(key.data(), word.data(), word.size());
    }
    key[3] |= std::uint64_t{word.size()} << 56;
    return key;
  }
  static constexpr std::array<std::uint8_t, 64> masks = [] {
    std::array<std::uint8_t, 64> bytes{};
    for (std::size_t i = 0; i < 32; ++i) bytes[i] = 0xFF;
    return bytes;
  }();

  std::vector<Entry> entries_;
};

}  // namespace octet
