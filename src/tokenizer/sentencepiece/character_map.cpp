#include "src/tokenizer/sentencepiece/character_map.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace octet {
namespace {

/// A unit of the double array of darts-clone, by which texts are looked up byte by byte.
struct Unit {
  std::uint32_t bits = 0;

  bool has_leaf() const { return (bits >> 8 & 1) != 0; }
  std::uint32_t value() const { return bits & 0x7FFFFFFFu; }
  std::uint32_t label() const { return bits & 0x800000FFu; }
  std::uint32_t offset() const { return bits >> 10 << ((bits & 1u << 9) >> 6); }
};

/// Goes to all units that any text leads to.
bool stays_within(const std::vector<Unit>& units, std::size_t texts) {
  std::vector<bool> seen(units.size());
  std::vector<std::uint32_t> waiting = {0};
  while (!waiting.empty()) {
    const std::uint32_t place = waiting.back();
    waiting.pop_back();
    if (seen[place]) continue;
    seen[place] = true;
    const std::uint32_t base = place ^ units[place].offset();
    if ((base | 0xFF) >= units.size()) return false;
    if (place != 0 && units[place].has_leaf() && units[base].value() >= texts) return false;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      if (units[base ^ byte].label() == byte) waiting.push_back(base ^ byte);
    }
  }
  return true;
}

}  // namespace

std::string wrong_in_character_map(std::string_view map) {
  std::uint32_t bytes = 0;  // of the array; the texts that characters become come behind it, each with a NUL
  if (map.empty()) return "";
  if (map.size() < sizeof bytes) return "it is too short";
  std::memcpy(&bytes, map.data(), sizeof bytes);
  map.remove_prefix(sizeof bytes);
  if (bytes >= map.size() || bytes == 0 || bytes % sizeof(Unit) != 0) return "the size of its array is wrong";
  std::vector<Unit> units(bytes / sizeof(Unit));
  std::memcpy(units.data(), map.data(), bytes);
  map.remove_prefix(bytes);
  if (map.back() != '\0') return "its last text has no end";
  if (!stays_within(units, map.size())) return "its array leads outside";
  return "";
}

}  // namespace octet
