#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// FNV-1a, 64 bits: by it ranks compare texts, and tuning files name what they were made of, so it stays as it is.
constexpr std::uint64_t content_hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace octet
