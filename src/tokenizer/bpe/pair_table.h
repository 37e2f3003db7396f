#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet {

/// What a pair of neighbours becomes, and how early: rank in the upper half, the id of the result in the lower. Of two
/// merges the smaller goes first.
using Merge = std::uint64_t;
inline constexpr Merge no_merge = UINT64_MAX;

inline std::int32_t result_of(Merge merge) {
  return static_cast<std::int32_t>(merge);
}

/// The merges of a vocabulary, by the ids of left and right. Any thread, once it is filled.
class PairTable {
 public:
  PairTable() : slots_(64) {}

  /// Returns false and changes nothing where the pair has a merge.
  bool add(std::int32_t left, std::int32_t right, std::uint32_t rank, std::int32_t result);

  Merge find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key = key_of(left, right);
    std::size_t slot = slot_of(key);
    while (slots_[slot].key != key) {
      if (slots_[slot].key == free_key) return no_merge;
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slots_[slot].merge;
  }

 private:
  static constexpr std::uint64_t free_key = UINT64_MAX;  // no pair has it, as ids are not negative
  struct Slot {
    std::uint64_t key = free_key;
    Merge merge = no_merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const {
    const std::uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15u;
    return (mixed ^ mixed >> 32) & (slots_.size() - 1);
  }
  void place(const Slot& entry);

  std::vector<Slot> slots_;  ///< a power of two of them, at most half in use
  std::size_t used_ = 0;
};

}  // namespace octet
