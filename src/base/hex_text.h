#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "src/base/json_reader.h"

namespace octet {

/// Hashes stand in JSON as texts of 16 digits, since not every reader of JSON keeps 64 bits of a number.
inline std::string hex_text(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

/// Usage error for what hex_text does not write.
inline std::uint64_t hex_of(const JsonReader& json) {
  const std::string text = json.text();
  const bool is_hex = text.size() == 16 && std::ranges::all_of(text, [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                      });
  if (!is_hex) throw json.refuse("16 hexadecimal digits");
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

}  // namespace octet
