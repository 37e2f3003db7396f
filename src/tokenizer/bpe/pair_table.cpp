#include "src/tokenizer/bpe/pair_table.h"

#include <utility>

namespace octet {

bool PairTable::add(std::int32_t left, std::int32_t right, std::uint32_t rank, std::int32_t result) {
  if (find(left, right) != no_merge) return false;
  if (2 * ++used_ > slots_.size()) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& entry : old) {
      if (entry.key != free_key) place(entry);
    }
  }
  place({key_of(left, right), Merge{rank} << 32 | static_cast<std::uint32_t>(result)});
  return true;
}

void PairTable::place(const Slot& entry) {
  std::size_t slot = slot_of(entry.key);
  while (slots_[slot].key != free_key) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = entry;
}

}  // namespace octet
