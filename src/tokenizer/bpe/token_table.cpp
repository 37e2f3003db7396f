#include "src/tokenizer/bpe/token_table.h"

#include <xxhash.h>

namespace octet {

bool TokenTable::add(std::int32_t id, std::string_view bytes) {
  if (find(bytes) || !add_named(id, bytes)) return false;
  if (2 * ++used_ > slots_.size()) grow();
  slots_[slot_of(bytes)] = id;
  return true;
}

bool TokenTable::add_named(std::int32_t id, std::string_view bytes) {
  const auto index = static_cast<std::size_t>(id);
  if (has(id)) return false;
  if (index >= places_.size()) places_.resize(index + 1);
  places_[index] = {.begin = bytes_.size(), .length = static_cast<std::uint32_t>(bytes.size()), .there = true};
  bytes_ += bytes;
  return true;
}

std::string_view TokenTable::bytes(std::int32_t id) const {
  const Place& place = places_[static_cast<std::size_t>(id)];
  return std::string_view(bytes_).substr(place.begin, place.length);
}

std::optional<std::int32_t> TokenTable::find(std::string_view bytes) const {
  if (slots_.empty()) return std::nullopt;
  const std::int32_t id = slots_[slot_of(bytes)];
  return id < 0 ? std::nullopt : std::optional(id);
}

/// The slot of these bytes, or the free one where they would go.
std::size_t TokenTable::slot_of(std::string_view text) const {
  std::size_t slot = XXH3_64bits(text.data(), text.size()) & (slots_.size() - 1);
  while (slots_[slot] >= 0 && bytes(slots_[slot]) != text) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void TokenTable::grow() {
  std::vector<std::int32_t> ids;
  for (const std::int32_t id : slots_) {
    if (id >= 0) ids.push_back(id);
  }
  slots_.assign(slots_.empty() ? 1024 : 2 * slots_.size(), -1);
  for (const std::int32_t id : ids) slots_[slot_of(bytes(id))] = id;
}

}  // namespace octet
